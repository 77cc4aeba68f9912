package decode

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"strings"
	"testing"
)

// The sizes of a frame, in bytes, and the type of a header that is a string.
const (
	preludeSize = 12
	minFrame    = preludeSize + 4
	maxHeaders  = 128 << 10
	stringType  = 7
)

// beginsFrame reports whether data begins with the first byte of a length.
func beginsFrame(data string) bool { return data[0] <= 1 }

// validPrelude reports whether a text begins with the lengths of a frame and their
// checksum.
func validPrelude(data string) bool {
	return len(data) >= preludeSize && crc32.ChecksumIEEE([]byte(data[:8])) == binary.BigEndian.Uint32([]byte(data[8:preludeSize]))
}

// frame returns a frame of an AWS event stream with headers that are strings, in pairs
// of a name and a value.
func frame(payload string, headers ...string) string {
	var h []byte
	for i := 0; i < len(headers); i += 2 {
		h = append(append(h, byte(len(headers[i]))), headers[i]...)
		h = binary.BigEndian.AppendUint16(append(h, stringType), uint16(len(headers[i+1])))
		h = append(h, headers[i+1]...)
	}
	f := binary.BigEndian.AppendUint32(nil, uint32(minFrame+len(h)+len(payload)))
	f = binary.BigEndian.AppendUint32(f, uint32(len(h)))
	f = binary.BigEndian.AppendUint32(f, crc32.ChecksumIEEE(f))
	f = append(append(f, h...), payload...)
	return string(binary.BigEndian.AppendUint32(f, crc32.ChecksumIEEE(f)))
}

// event returns the frame of an event.
func event(kind, payload string) string {
	return frame(payload, ":event-type", kind, ":content-type", "application/json", ":message-type", "event")
}

// converse returns the frames of a stream of ConverseStream, and the chunks of the same
// events as JSON.
func converse(t testing.TB) (frames []string, chunks string) {
	t.Helper()
	var events []string
	for _, e := range [...]struct{ kind, payload string }{
		{"messageStart", `{"role":"assistant"}`},
		{"contentBlockStart", `{"contentBlockIndex":0,"start":{"toolUse":{"toolUseId":"t1","name":"get_weather"}},"p":"ab"}`},
		{"contentBlockDelta", `{"contentBlockIndex":0,"delta":{"toolUse":{"input":"{\"city\":\"Málaga\"}"}}}`},
		{"contentBlockStop", `{"contentBlockIndex":0}`},
		{"messageStop", `{"stopReason":"tool_use"}`},
		{"metadata", `{"usage":{"inputTokens":1,"outputTokens":2}}`},
	} {
		frames = append(frames, event(e.kind, e.payload))
		events = append(events, `{"`+e.kind+`":`+e.payload+"}")
	}
	chunks = readAll(t, events...)
	if strings.Count(chunks, "\n") != 7 || !strings.Contains(chunks, "Málaga") {
		t.Fatalf("chunks of the events as JSON: %s", chunks)
	}
	return frames, chunks
}

// TestFrameVectors reads frames that other programs use as tests:
// https://github.com/awslabs/aws-c-event-stream/tree/main/tests
func TestFrameVectors(t *testing.T) {
	const noJSON, checksum = "problem '\\'' where a key in double quotes or } is expected\n", "problem the checksum of a frame is wrong\n"
	for vector, want := range map[string]string{
		"000000100000000005c248eb7d98c8ff":                                                                                           "",
		"0000001d00000000fd528c5a7b27666f6f273a27626172277dc3653936":                                                                 noJSON,
		"0000001d00000000fd528c5a5b27666f6f273a27626172277dc3653936":                                                                 checksum,
		"0000003d0000002007fd83960c636f6e74656e742d747970650700106170706c69636174696f6e2f6a736f6e7b27666f6f273a27626172277d8d9c08b1": noJSON,
		"0000003e0000002007fd83960c636f6e74656e742d747970650700106170706c69636174696f6e2f6a736f6e7b27666f6f273a27626172277d8d9c08b1": "problem the checksum of the lengths of a frame is wrong\n",
		"0000008300000061a9d144e50f3a657863657074696f6e2d747970650700137468726f74746c696e67457863657074696f6e0d3a636f6e74656e742d747970650700106170706c69636174696f6e2f6a736f6e0d3a6d6573736167652d74797065070009657863657074696f6e7b226d657373616765223a22736c6f77227d9350311c": "run_start\nfailure Text=\"slow\"\nrun_end Text=\"slow\" Status=\"error\"\n",
	} {
		t.Run(fmt.Sprintf("%.60s", vector), func(t *testing.T) {
			data, err := hex.DecodeString(vector)
			if err != nil {
				t.Fatal(err)
			}
			if got := problemFree(readAll(t, string(data))); got != want {
				t.Errorf("%s\n got %s\nwant %s", vector, got, want)
			}
		})
	}
}

// TestFrames checks what frames and cut frames are read as.
func TestFrames(t *testing.T) {
	const text = `{"id":"c","choices":[{"delta":{"content":"x"}}]}`
	x := readAll(t, text)
	packed := `{"bytes":"` + base64.StdEncoding.EncodeToString([]byte(`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"y"}}`)) + `","p":"abc"}`
	converse, converseChunks := converse(t)
	whole := strings.Join(converse, "")
	damaged := strings.Replace(converse[2], "Málaga", "Malaga!", 1)
	var without string
	for line := range strings.Lines(converseChunks) {
		if strings.Contains(line, "Málaga") {
			line = "problem the checksum of a frame is wrong\n"
		}
		without += line
	}
	failed := func(text string) string {
		return "run_start\nfailure Text=\"" + text + "\"\nrun_end Text=\"" + text + "\" Status=\"error\"\n"
	}
	for name, c := range map[string]struct {
		inputs []string
		want   string
	}{
		"a body":                      {[]string{whole}, converseChunks},
		"a frame per input":           {converse, converseChunks},
		"lines of a file":             {strings.SplitAfter(whole, "\n"), converseChunks},
		"InvokeModel":                 {[]string{event("chunk", packed)}, "text Text=\"y\"\n"},
		"a damaged frame":             {[]string{strings.Join(converse[:2], "") + damaged + strings.Join(converse[3:], "")}, without},
		"an exception":                {[]string{frame(`{"message":"slow"}`, ":message-type", "exception", ":exception-type", "throttlingException")}, failed("slow")},
		"an exception without a text": {[]string{frame(`{}`, ":message-type", "exception", ":exception-type", "newException")}, failed("newException")},
		"an exception without JSON":   {[]string{frame(``, ":message-type", "exception")}, failed("exception")},
		"an error":                    {[]string{frame(``, ":message-type", "error", ":error-code", "500", ":error-message", "down")}, failed("down")},
		"bad headers":                 {[]string{frameWith("\x05ab", "{}")}, "problem the headers of a frame are invalid\n"},
		"bad lengths":                 {[]string{badLengths(), whole}, "problem the lengths of a frame are impossible\n" + converseChunks},
		"a cut frame, then a stream":  {[]string{converse[1][:40], whole}, "problem a frame was cut off after 40 bytes and never continued\n" + converseChunks},
		"a cut frame, then text":      {[]string{converse[0][:40], text, text + "\n" + text + text}, "problem the checksum of a frame is wrong\n" + x + x + x + x},
		"a cut prelude, then text":    {[]string{converse[0][:5], text}, "problem the checksum of the lengths of a frame is wrong\n" + x},
		"a cut frame, text, the end":  {[]string{event("messageStart", strings.Repeat(" ", 999))[:40], text, "END"}, "problem a frame was cut off after 88 bytes\n" + x},
		"a cut frame, then the end":   {[]string{converse[0][:40], "END"}, "problem a frame was cut off after 40 bytes\n"},
		"text, then frames":           {[]string{text, whole}, x + converseChunks},
	} {
		t.Run(name, func(t *testing.T) {
			var got strings.Builder
			var s State
			for _, input := range c.inputs {
				var r Reader
				if input != "END" {
					got.WriteString(transcript(&r, &s, []byte(input), ""))
					continue
				}
				r.End(&s, Limits{})
				got.WriteString(remaining(&r))
			}
			if got := problemFree(got.String()); got != c.want {
				t.Errorf("%s: inputs %q\n got %s\nwant %s", name, c.inputs, got, c.want)
			}
			if s.Pending() {
				t.Errorf("%s: %+v is left", name, s.Cut)
			}
		})
	}
}

// frameWith returns a frame with these bytes as headers.
func frameWith(headers, payload string) string {
	f := frame(headers + payload)
	h := binary.BigEndian.AppendUint32([]byte(f[:4]), uint32(len(headers)))
	h = binary.BigEndian.AppendUint32(h, crc32.ChecksumIEEE(h))
	h = append(h, headers+payload...)
	return string(binary.BigEndian.AppendUint32(h, crc32.ChecksumIEEE(h)))
}

// badLengths returns a prelude of a frame that is shorter than its headers.
func badLengths() string {
	h := []byte{0, 0, 0, 20, 0, 0, 0, 40}
	return string(binary.BigEndian.AppendUint32(h, crc32.ChecksumIEEE(h)))
}

// TestCutFramesDoNotMatter cuts a stream at every byte and byte by byte.
func TestCutFramesDoNotMatter(t *testing.T) {
	converse, converseChunks := converse(t)
	whole := strings.Join(converse, "")
	for cut := range whole {
		if got := readAll(t, whole[:cut], whole[cut:]); got != converseChunks {
			t.Fatalf("cut at %d\n got %s\nwant %s", cut, got, converseChunks)
		}
	}
	var inputs []string
	for i := range len(whole) {
		inputs = append(inputs, whole[i:i+1])
	}
	if got := readAll(t, inputs...); got != converseChunks {
		t.Errorf("byte by byte\n got %s\nwant %s", got, converseChunks)
	}
}

// TestLongFrame checks that a frame which is too long is reported once and skipped.
func TestLongFrame(t *testing.T) {
	long := event("contentBlockDelta", strings.Repeat("x", maxHeaders+200))
	converse, converseChunks := converse(t)
	var s State
	var r Reader
	var got strings.Builder
	for _, input := range []string{converse[0] + long[:50], long[50:60], long[60:maxHeaders], long[maxHeaders:] + strings.Join(converse[1:], "")} {
		r.Reset(&s, []byte(input), "", Limits{Event: 150})
		got.WriteString(remaining(&r))
		if n := kept(&s); n > 150+maxHeaders {
			t.Errorf("%d bytes are kept", n)
		}
	}
	want := strings.Replace(converseChunks, "fragment", "problem a stream event is longer than 150 bytes\nfragment", 1)
	if got := problemFree(got.String()); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

// FuzzFrames reads any bytes as frames, cut at two places: the chunks are those of the
// whole, and what is kept is bounded.
func FuzzFrames(f *testing.F) {
	converse, _ := converse(f)
	f.Add([]byte(strings.Join(converse, "")), uint16(30), uint16(300), false)
	f.Add([]byte(frame(`{"message":"slow"}`, ":message-type", "exception")), uint16(1), uint16(14), false)
	f.Add([]byte("\x05ab{}"), uint16(1), uint16(14), true)
	f.Fuzz(func(t *testing.T, data []byte, a, b uint16, asPayload bool) {
		if asPayload {
			data = []byte(frameWith(string(data[:len(data)/2]), string(data[len(data)/2:])) + converse[0])
		}
		if len(data) == 0 || !beginsFrame(string(data)) {
			return
		}
		whole := string(data)
		i, j := min(int(a), len(whole)), min(int(b), len(whole))
		i, j = min(i, j), max(i, j)
		var s State
		for _, input := range []string{whole[:i], whole[i:j], whole[j:]} {
			transcript(new(Reader), &s, []byte(input), "bedrock")
			if n := kept(&s); n > len(whole) {
				t.Errorf("%d bytes are kept of %d", n, len(whole))
			}
		}
		if asPayload && !validPrelude(whole[i:j]) && !validPrelude(whole[j:]) { // these end a frame that is cut
			if got, want := problemFree(readAll(t, whole[:i], whole[i:j], whole[j:])), problemFree(readAll(t, whole)); got != want {
				t.Errorf("%q | %q | %q\n got %s\nwant %s", whole[:i], whole[i:j], whole[j:], got, want)
			}
		}
	})
}
