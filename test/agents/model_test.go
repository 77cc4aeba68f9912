package main

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"

	"streamer/internal/client"
)

// TestModel checks that the answers of each wire format are read as the model says them.
func TestModel(t *testing.T) {
	requests := map[string]string{
		"/v1/chat/completions": `{"stream":true,"tools":[{"name":"mark"}],"messages":[]}`,
		"/v1/responses":        `{"stream":true,"tools":[{"name":"mark"}],"input":[]}`,
		"/v1/messages":         `{"stream":true,"tools":[{"name":"mark"}],"messages":[]}`,
		"/v1beta/models/m:streamGenerateContent?alt=": `{"tools":[{"functionDeclarations":[{"name":"mark"}]}],"contents":[]}`,
	}
	for path, request := range requests {
		for _, s := range scripts() {
			t.Run(path+" "+s.name, func(t *testing.T) {
				m := newModel(s, mark(nil))
				defer m.Close()
				gemini := strings.Contains(path, "Content")
				for range len(s.answers) + 1 {
					fold(t, m, path, request, gemini)
				}
				if last := m.Texts[len(m.Texts)-1].Text; last != lastText {
					t.Errorf("the last text is %q", last)
				}
			})
		}
	}
}

// fold asks for one answer and compares its calls with the record.
func fold(t *testing.T, m *model, path, request string, gemini bool) {
	before := len(m.Calls)
	response, err := http.Post(m.URL+path, "application/json", strings.NewReader(request))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, _ := io.ReadAll(response.Body) // an answer may be cut
	a, err := client.Assemble(bytes.NewReader(body), "")
	if err != nil {
		t.Fatal(err)
	}
	if n := client.Rejections(a.Events).Count; n > 0 {
		t.Errorf("%d rejections in %s", n, body)
	}
	var said []modelCall
	for _, c := range m.Calls[before:] {
		if c.Form == "" || !gemini { // Gemini has no calls that are not whole
			said = append(said, c)
		}
	}
	got := a.Calls()
	if len(got) != len(said) {
		t.Fatalf("%d calls, want %d: %s", len(got), len(said), body)
	}
	for i, c := range got {
		same := c.ArgsText == said[i].Args || gemini && sameJSON(c.Args, []byte(said[i].Args))
		if c.ID != said[i].ID || c.Name != said[i].Name || !same || said[i].Whole != (c.Complete && c.ArgsValid) {
			t.Errorf("call %+v, want %+v", c, said[i])
		}
	}
}

// TestCheck checks that each kind of difference is reported, and that none is reported
// of an output which the record agrees with.
func TestCheck(t *testing.T) {
	output := output{format: "vercel-ui", texts: true}
	stream := `{"type":"start"}
{"type":"start-step"}
{"type":"text-start","id":"0"}
{"type":"text-delta","id":"0","delta":"Working."}
{"type":"text-end","id":"0"}
{"type":"tool-input-available","toolCallId":"call_A0","toolName":"mark","input":{"act":"","step":"A"}}
{"type":"tool-output-available","toolCallId":"call_A0","output":"did A"}
{"type":"finish-step"}
{"type":"finish"}
`
	right := record{
		Calls: []modelCall{{Step: "A", ID: "call_A0", Name: "mark", Args: `{"act":"","step":"A"}`, Whole: true}},
		Texts: []modelText{{Text: "Working."}}, Tool: "begin A\nend A\n",
	}
	for _, c := range []struct{ old, replacement, want string }{
		{"", "", ""},
		{`"type":"tool-input-available"`, `"type":"tool-input-available-2"`, "is rejected"},
		{"call_A0", "call_other", "has the id call_other"},
		{`"toolName":"mark"`, `"toolName":"other"`, "other {"},
		{`"step":"A"`, `"step":"B"`, "none that the model completed"},
		{`tool-output-available","toolCallId":"call_A0","output"`, `tool-output-error","toolCallId":"call_A0","errorText"`, "is error, want completed"},
		{`"did A"`, `"did"`, "the result of call A"},
		{"Working.", "Work", "the text is"},
		{`Working."}`, "Working.\"}\n" + `{"type":"text-delta","id":"0","delta":"More."}`, "the text is"},
		{`{"type":"tool-input-available","toolCallId":"call_A0","toolName":"mark","input":{"act":"","step":"A"}}` + "\n" + `{"type":"tool-output-available","toolCallId":"call_A0","output":"did A"}` + "\n", "", "call A is missing"},
		{`{"type":"finish-step"}`, `{"type":"tool-input-available","toolCallId":"call_B","toolName":"mark","input":{}}`, "none that the model completed"},
	} {
		t.Run(c.want, func(t *testing.T) {
			r := right
			got := strings.Join(check(script{}, output, &r, []byte(strings.Replace(stream, c.old, c.replacement, 1))), "\n")
			if got == "" != (c.want == "") || !strings.Contains(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
