package broker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// The streams of inputs and events, and those that only this program reads.
const (
	StreamInputs      = "LLM"
	StreamEvents      = "TOOLCALLS"
	StreamDead        = "STREAMER_DEAD" // events that a sink could not deliver; there is none without a sink
	streamBlobs       = "STREAMER_BLOBS"
	streamSnapshots   = "KV_STREAMER_SNAPSHOT"
	streamCheckpoints = "KV_STREAMER_CHECKPOINT"
	streamMembers     = "KV_STREAMER_MEMBER"
)

var streamNames = [...]string{StreamInputs, StreamEvents, streamBlobs, streamSnapshots, streamCheckpoints, streamMembers}

// Roots of the subjects of internal streams.
const (
	rootBlobs       = "_blobs."
	RootDead        = "_dead." // sink and token of the session follow
	rootSnapshots   = "$KV.STREAMER_SNAPSHOT."
	rootCheckpoints = "$KV.STREAMER_CHECKPOINT."
	rootMembers     = "$KV.STREAMER_MEMBER."
)

// Destinations returns the roots of the subjects under which a stream stores or
// republishes messages.
func Destinations(stream string) []string {
	switch stream {
	case StreamInputs:
		return []string{"llm.", "_llm."}
	case StreamEvents:
		return []string{"_toolcalls.", "toolcalls."}
	case StreamDead:
		return []string{RootDead}
	case streamBlobs:
		return []string{rootBlobs}
	}
	return []string{"$KV." + strings.TrimPrefix(stream, "KV_") + "."}
}

// Metadata of the streams. These values must never change while a process relies on
// them.
const (
	metaPartitions = "streamer-partitions"
	metaInputs     = "streamer-inputs-created" // of the event stream: the identity of the input stream whose sequences are in its event ids
	metaIdentity   = "streamer-created"        // of the input stream: its identity, which is the time of its creation
)

// Defaults, and the margin by which event retention must exceed input retention.
const (
	defaultPartitions = 16
	maxPartitions     = 1024
	defaultInputAge   = 12 * time.Hour
	defaultEventAge   = 24 * time.Hour
	duplicates        = 2 * time.Minute // the window of Nats-Msg-Id
	ageMargin         = time.Hour
)

const leastPayload = 1 << 20

const (
	storageFile   = "file"
	storageMemory = "memory"
)

func (b *Broker) makeStreams(ctx context.Context) error {
	if err := b.checkServer(ctx); err != nil {
		return err
	}
	for given, try := b.opts, 0; ; try++ {
		err := b.tryStreams(ctx)
		if refused := (*apiError)(nil); !errors.As(err, &refused) || refused.ErrCode != codeStreamOther || try == 3 {
			return err
		}
		b.opts = given // another process created the stream since: now it is adopted
		if err := b.Backoff(ctx, try); err != nil {
			return err
		}
	}
}

func (b *Broker) tryStreams(ctx context.Context) error {
	if err := b.refuseOrphans(ctx); err != nil {
		return err
	}
	inputs, err := b.makeInputs(ctx)
	if err != nil {
		return err
	}
	identity, err := b.recordIdentity(ctx, inputs)
	if err != nil {
		return err
	}
	stored, err := b.makeEvents(ctx, identity)
	if err != nil {
		return err
	}
	in, out := inputs.Config.MaxAge, stored.Config.MaxAge
	if out < in+ageMargin {
		return fmt.Errorf("broker: events are kept for %v, inputs for %v: events must be kept at least %v longer, or a replay would append them again", out, in, ageMargin)
	}
	b.created, b.inputAge, b.eventAge, b.replicated = inputs.Created, in, out, inputs.Config.Replicas > 1
	b.snapshotAge = cmp.Or(b.opts.SnapshotAge, in+out+ageMargin)
	if err := b.makeOwn(ctx, out); err != nil {
		return err
	}
	b.warnings = b.weaknesses(inputs.Config, stored.Config)
	return nil
}

// Replicated reports whether the input log has replicas. A former leader may then
// answer for some seconds as if it still were the leader.
func (b *Broker) Replicated() bool { return b.replicated }

// Retention returns how long inputs and events are kept.
func (b *Broker) Retention() (inputs, events time.Duration) { return b.inputAge, b.eventAge }

func (b *Broker) checkServer(ctx context.Context) error {
	version := b.nc.ConnectedServerVersion()
	for try := 0; version == ""; try++ { // the connection is lost again
		if b.nc.IsClosed() {
			return ErrClosed
		}
		if err := b.Backoff(ctx, try); err != nil {
			return fmt.Errorf("broker: %w: %w", errNotConnected, err)
		}
		version = b.nc.ConnectedServerVersion()
	}
	if err := checkVersion(version); err != nil {
		return err
	}
	if enabled, _ := b.nc.ConnectedServerJetStream(); !enabled {
		// Another server of its cluster may have it, and answers then.
		if err := b.askOnce(ctx, apiAccountInfo, nil, &failure{}); errors.Is(err, nats.ErrNoResponders) {
			return errors.New("broker: the NATS server runs without JetStream: enable it (nats-server -js, or jetstream {} in its configuration)")
		}
	}
	if got := b.nc.MaxPayload(); got < leastPayload {
		return fmt.Errorf("broker: the NATS server's max_payload is %d bytes: at least %d are needed", got, leastPayload)
	}
	return nil
}

func checkVersion(version string) error {
	var major, minor int
	lacks := "its features are not known"
	_, err := fmt.Sscanf(version, "%d.%d", &major, &minor)
	switch {
	case err != nil:
	case major > 2 || major == 2 && minor >= 14:
		return nil
	case major < 2 || minor < 11:
		lacks = "it has no condition over all subjects of a session, without which events could be stored twice, and no TTL per message (both since 2.11)"
	default:
		lacks = "a server that cannot write to its disk goes on voting, and what was acknowledged can be lost (until 2.14)"
	}
	return fmt.Errorf("broker: NATS server %q is too old: %s; 2.14 or later is needed", version, lacks)
}

func (b *Broker) makeInputs(ctx context.Context) (*streamInfo, error) {
	info, err := b.stream(ctx, StreamInputs)
	if err != nil {
		return nil, err
	}
	if err := b.adoptStorage(info); err != nil {
		return nil, err
	}
	want := b.opts.Partitions
	if info != nil {
		recorded, err := strconv.Atoi(info.Config.Metadata[metaPartitions])
		if err != nil || recorded < 1 || recorded > maxPartitions {
			return nil, fmt.Errorf("broker: stream %s exists, but records no number of partitions: it is not a stream of streamer", StreamInputs)
		}
		if want != 0 && want != recorded {
			return nil, fmt.Errorf("broker: stream %s was created with %d partitions, %d are configured: the number cannot change while its messages are kept; unset --partitions, or see \"Another number of partitions\" in docs/operations.md", StreamInputs, recorded, want)
		}
		want = recorded
	}
	b.partitions = cmp.Or(want, defaultPartitions)
	if b.partitions < 1 || b.partitions > maxPartitions {
		return nil, fmt.Errorf("broker: %d partitions: 1 to %d are possible", b.partitions, maxPartitions)
	}
	config := b.config(StreamInputs, cmp.Or(b.opts.InputAge, defaultInputAge), "llm.*.delta", "llm.*.result", "llm.*.progress", "llm.*.interrupt", subjectAnswer, subjectResume, "llm.*.end", "_llm.>")
	config.SubjectTransform = &jetstream.SubjectTransformConfig{
		Source:      "llm.*.*",
		Destination: fmt.Sprintf("_llm.{{partition(%d,1)}}.{{wildcard(1)}}.{{wildcard(2)}}", b.partitions),
	}
	config.Duplicates = min(duplicates, config.MaxAge) // the server allows no longer window
	config.Metadata = map[string]string{metaPartitions: strconv.Itoa(b.partitions)}
	b.limitBytes(&config, info)
	if info, err = b.extend(ctx, info); err != nil {
		return nil, err
	}
	return b.createOrCheck(ctx, info, config, b.opts.InputAge)
}

// recordIdentity returns the identity of the input stream, and records it in the
// stream if it is not recorded. A cluster gives a restored stream a new time of
// creation, but restores the metadata.
func (b *Broker) recordIdentity(ctx context.Context, info *streamInfo) (string, error) {
	if recorded := info.Config.Metadata[metaIdentity]; recorded != "" {
		return recorded, nil
	}
	identity := info.Created.UTC().Format(time.RFC3339Nano)
	if b.opts.Existing { // a tool changes nothing
		return identity, nil
	}
	config := info.Config
	config.Metadata = maps.Clone(config.Metadata)
	config.Metadata[metaIdentity] = identity
	if err := b.ask(ctx, apiStreamUpdate+StreamInputs, config, &streamInfo{}); err != nil {
		return "", fmt.Errorf("broker: recording the identity of stream %s: %w", StreamInputs, err)
	}
	return identity, nil
}

// refuseOrphans refuses to create an input stream where the events of another one
// are stored. The new one would take the place of the missing one, which could then
// not be restored.
func (b *Broker) refuseOrphans(ctx context.Context) error {
	inputs, err := b.stream(ctx, StreamInputs)
	if err != nil || inputs != nil {
		return err
	}
	stored, err := b.stream(ctx, StreamEvents)
	if err != nil || stored == nil {
		return err
	}
	if inputs, err = b.stream(ctx, StreamInputs); err != nil || inputs != nil {
		return err // another process created both since
	}
	where := b.URL()
	if b.embedded != nil {
		where = "data directory " + b.embedded.Dir()
	}
	return fmt.Errorf("broker: stream %s is missing in %s, but stream %s exists, whose event ids refer to its inputs: %s", StreamInputs, where, StreamEvents, restoreInputs)
}

const restoreInputs = "restore stream " + StreamInputs + " with its meta.inf and meta.sum from a backup, or delete all streams of streamer to begin anew"

// makeEvents creates the event stream. It belongs to one input stream, whose
// sequences are in its event ids.
func (b *Broker) makeEvents(ctx context.Context, created string) (*streamInfo, error) {
	info, err := b.stream(ctx, StreamEvents)
	if err != nil {
		return nil, err
	}
	if info != nil && info.Config.Metadata[metaInputs] != created {
		return nil, fmt.Errorf("broker: stream %s belongs to a stream %s created at %q, but this one was created at %q: event ids would mean other inputs; %s",
			StreamEvents, StreamInputs, info.Config.Metadata[metaInputs], created, restoreInputs)
	}
	config := b.config(StreamEvents, cmp.Or(b.opts.EventAge, defaultEventAge), "_toolcalls.>")
	config.SubjectTransform = &jetstream.SubjectTransformConfig{Source: "_toolcalls.>", Destination: "toolcalls.>"}
	config.RePublish = &jetstream.RePublish{Source: "toolcalls.>", Destination: "toolcalls.>"}
	config.AllowDirect = true
	config.Duplicates = min(duplicates, config.MaxAge) // the server allows no longer window
	config.Metadata = map[string]string{metaInputs: created}
	return b.createOrCheck(ctx, info, config, b.opts.EventAge)
}

// makeOwn creates the streams of blobs, snapshots, checkpoints and members. All but
// the first are ordinary KV buckets, readable with the usual tools.
func (b *Broker) makeOwn(ctx context.Context, eventAge time.Duration) error {
	blobs := b.config(streamBlobs, max(eventAge, b.snapshotAge)+ageMargin, rootBlobs+"*")
	blobs.MaxMsgsPerSubject = 1
	snapshots := b.bucket(streamSnapshots, rootSnapshots+">")
	snapshots.AllowMsgTTL = true
	members := b.bucket(streamMembers, rootMembers+">")
	members.AllowMsgTTL = true
	for _, config := range []jetstream.StreamConfig{blobs, snapshots, members, b.bucket(streamCheckpoints, rootCheckpoints+">")} {
		info, err := b.stream(ctx, config.Name)
		if err != nil {
			return err
		}
		if info, err = b.createOrCheck(ctx, info, config, 0); err != nil {
			return err
		}
		if age := info.Config.MaxAge; age != 0 && age < config.MaxAge {
			return fmt.Errorf("broker: stream %s keeps its messages for %v: %v are needed, or references to them outlive them", config.Name, age, config.MaxAge)
		}
	}
	return nil
}

// limitBytes sets the maximum size of the input stream. A full stream refuses new
// inputs, so that their publishers know. If it dropped old ones, acknowledged
// inputs could be lost before they are folded.
func (b *Broker) limitBytes(config *jetstream.StreamConfig, info *streamInfo) {
	limit := b.opts.MaxBytes
	if limit == 0 && info != nil {
		limit = info.Config.MaxBytes
	}
	if limit > 0 {
		config.MaxBytes, config.Discard = limit, jetstream.DiscardNew
	}
}

// Subjects of the input stream that streams of earlier versions lack.
const (
	subjectAnswer = "llm.*.answer"
	subjectResume = "llm.*.resume"
)

// extend adds the subjects that an input stream of an earlier version lacks, and raises the
// limit of a bounded one to the configured one: that is what an operator can do about a
// full stream. createOrCheck refuses a lower limit.
func (b *Broker) extend(ctx context.Context, info *streamInfo) (*streamInfo, error) {
	if info == nil || b.opts.Existing { // a tool changes nothing
		return info, nil
	}
	config := info.Config
	if config.MaxBytes > 0 {
		config.MaxBytes = max(config.MaxBytes, b.opts.MaxBytes)
	}
	for _, s := range [...]string{subjectAnswer, subjectResume} {
		if !slices.Contains(config.Subjects, s) {
			config.Subjects = append(slices.Clone(config.Subjects), s)
		}
	}
	if config.MaxBytes == info.Config.MaxBytes && len(config.Subjects) == len(info.Config.Subjects) {
		return info, nil
	}
	extended := &streamInfo{}
	if err := b.ask(ctx, apiStreamUpdate+StreamInputs, config, extended); err != nil {
		return nil, fmt.Errorf("broker: changing stream %s to the subjects %s and at most %d bytes: %w", StreamInputs, config.Subjects, config.MaxBytes, err)
	}
	return extended, nil
}

// adoptStorage adopts the storage of the input stream where none is configured, so
// that all streams have the same.
func (b *Broker) adoptStorage(info *streamInfo) error {
	switch b.opts.Storage {
	case storageFile, storageMemory:
		return nil
	case "":
	default:
		return fmt.Errorf("broker: storage %q is neither %s nor %s", b.opts.Storage, storageFile, storageMemory)
	}
	b.opts.Storage = storageFile
	if info != nil && info.Config.Storage == jetstream.MemoryStorage {
		b.opts.Storage = storageMemory
	}
	return nil
}

func (b *Broker) config(name string, age time.Duration, subjects ...string) jetstream.StreamConfig {
	storage := jetstream.FileStorage
	if b.opts.Storage == storageMemory {
		storage = jetstream.MemoryStorage
	}
	return jetstream.StreamConfig{
		Name: name, Subjects: subjects, MaxAge: age, Storage: storage,
		Replicas: cmp.Or(b.opts.Replicas, 1), Retention: jetstream.LimitsPolicy, Discard: jetstream.DiscardOld,
		MaxMsgs: -1, MaxBytes: -1, MaxMsgsPerSubject: -1, MaxConsumers: -1, MaxMsgSize: -1,
	}
}

func (b *Broker) bucket(name, subjects string) jetstream.StreamConfig {
	c := b.config(name, 0, subjects)
	c.MaxMsgsPerSubject = 1
	c.Discard = jetstream.DiscardNew
	c.AllowRollup = true
	c.DenyDelete = true
	c.AllowDirect = true
	return c
}

func (b *Broker) stream(ctx context.Context, name string) (*streamInfo, error) {
	var info streamInfo
	err, refused := b.ask(ctx, apiStreamInfo+name, nil, &info), (*apiError)(nil)
	switch {
	case errors.As(err, &refused) && refused.ErrCode == codeStreamNotFound:
		return nil, nil
	case errors.As(err, &refused) && refused.ErrCode == codeNoJetStream:
		return nil, errors.New("broker: the account of this NATS user has no JetStream, so it is not the account of the streams")
	case err != nil:
		return nil, fmt.Errorf("broker: stream %s: %w", name, err)
	}
	return &info, nil
}

// StreamEnd returns the last sequence of a stream; ok is false if there is none.
func (b *Broker) StreamEnd(ctx context.Context, name string) (last uint64, ok bool, err error) {
	info, err := b.stream(ctx, name)
	if err != nil || info == nil {
		return 0, false, err
	}
	return info.State.Last, true, nil
}

// createOrCheck creates a stream, or checks the existing one. age is required; zero
// adopts the existing one.
func (b *Broker) createOrCheck(ctx context.Context, info *streamInfo, want jetstream.StreamConfig, age time.Duration) (*streamInfo, error) {
	if info == nil && b.opts.Existing {
		return nil, fmt.Errorf("broker: there is no stream %s on %s: no streamer has run there", want.Name, b.URL())
	}
	if info == nil {
		info = &streamInfo{}
		// Two processes that start at once both request it. The server accepts the
		// same configuration twice and refuses a different one.
		if err := b.ask(ctx, apiStreamCreate+want.Name, want, info); err != nil {
			return nil, fmt.Errorf("broker: creating stream %s: %w", want.Name, err)
		}
	}
	if wrong := b.differences(info.Config, want, age); len(wrong) > 0 {
		return nil, fmt.Errorf("broker: stream %s has another configuration: %s", want.Name, strings.Join(wrong, "; "))
	}
	return info, nil
}

func (b *Broker) differences(got, want jetstream.StreamConfig, age time.Duration) (wrong []string) {
	check := func(what string, got, want any) {
		if got != want {
			wrong = append(wrong, fmt.Sprintf("%s is %v, not %v", what, got, want))
		}
	}
	slices.Sort(got.Subjects)
	slices.Sort(want.Subjects)
	check("its subjects", fmt.Sprint(got.Subjects), fmt.Sprint(want.Subjects))
	check("its subject transform", transform(got.SubjectTransform), transform(want.SubjectTransform))
	check("its republishing", republish(got.RePublish), republish(want.RePublish))
	check("its retention policy", got.Retention, want.Retention)
	check("its discard policy", got.Discard, want.Discard)
	check("its limit of messages", got.MaxMsgs, want.MaxMsgs)
	check("its limit of bytes", got.MaxBytes, want.MaxBytes)
	check("its limit of messages per subject", got.MaxMsgsPerSubject, want.MaxMsgsPerSubject)
	check("direct access", got.AllowDirect, want.AllowDirect)
	check("TTL per message", got.AllowMsgTTL, want.AllowMsgTTL)
	check("its storage", got.Storage, want.Storage)
	if b.opts.Replicas != 0 {
		check("its number of replicas", got.Replicas, want.Replicas)
	}
	if age != 0 {
		check("its retention", got.MaxAge, age)
	}
	for k, v := range want.Metadata {
		check("its recorded "+k, got.Metadata[k], v)
	}
	return wrong
}

func transform(t *jetstream.SubjectTransformConfig) string {
	if t == nil {
		return "none"
	}
	return t.Source + " to " + t.Destination
}

func republish(r *jetstream.RePublish) string {
	if r == nil {
		return "none"
	}
	text := r.Source + " to " + r.Destination
	if r.HeadersOnly {
		text += " without bodies"
	}
	return text
}
