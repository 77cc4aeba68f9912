package broker

import "testing"

// TestIdentity: a stream of a version that did not record the identity gets it at the
// next start, and is accepted.
func TestIdentity(t *testing.T) {
	b := start(t, Options{Embed: embed(t.TempDir(), "127.0.0.1:0")})
	var before, after streamInfo
	if err := b.ask(deadline(t), apiStreamInfo+StreamInputs, nil, &before); err != nil {
		t.Fatal(err)
	}
	identity := before.Config.Metadata[metaIdentity]
	if identity == "" {
		t.Fatalf("no identity in %v", before.Config.Metadata)
	}
	delete(before.Config.Metadata, metaIdentity)
	if err := b.ask(deadline(t), apiStreamUpdate+StreamInputs, before.Config, &streamInfo{}); err != nil {
		t.Fatal(err)
	}
	start(t, Options{URL: b.OwnURL(), Existing: true}) // a tool does not change it
	start(t, Options{URL: b.OwnURL()})
	if err := b.ask(deadline(t), apiStreamInfo+StreamInputs, nil, &after); err != nil {
		t.Fatal(err)
	}
	if got := after.Config.Metadata[metaIdentity]; got != identity {
		t.Errorf("got the identity %q, want %q", got, identity)
	}
}
