package claudetranscript

import (
	"strings"

	"streamer/internal/chunks"
	"streamer/internal/decode/claudecode"
	"streamer/internal/decode/wire"
)

// notified emits the results of calls that went on in the background. The notification of the
// program is a text, which lines of several types have:
//
//	<task-notification> <task-id>ID</task-id> <tool-use-id>CALL</tool-use-id> <status>completed</status> <summary>TEXT</summary> <result>TEXT</result>
func (d *decoder) notified(w *wire.Writer, line string) {
	for len(d.Left) > 0 {
		_, rest, found := strings.Cut(line, "<task-notification>")
		if !found {
			return
		}
		note, _, _ := strings.Cut(rest, "</task-notification>")
		line = rest
		id, status := w.Unquote(element(note, "tool-use-id")), claudecode.TaskStatus(element(note, "status"))
		text := element(note, "result")
		if text == "" {
			text = element(note, "summary")
		}
		if status != "" && d.Left.Remove(id) {
			d.close(id)
			w.Emit(chunks.Chunk{Kind: chunks.Result, ID: id, Status: status, Text: w.Unquote(text)})
		}
	}
}

// element returns the content of an element, as it is written in a JSON string.
func element(text, name string) string {
	_, text, _ = strings.Cut(text, "<"+name+">")
	text, _, found := strings.Cut(text, "</"+name+">")
	if !found {
		return ""
	}
	return text
}
