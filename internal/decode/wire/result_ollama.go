package wire

import (
	"streamer/internal/chunks"
	"streamer/internal/jsonscan"
)

// OllamaResult emits a result of Ollama, which names its tool and, in newer
// versions, its call.
func (w *Writer) OllamaResult(message jsonscan.Value) *Problem {
	r := ReadResult(message)
	c := chunks.Chunk{Kind: chunks.Result, ID: w.Text(r.id), Name: w.Text(r.tool), Status: "success"}
	if c.ID == "" && c.Name == "" {
		return WrongShape("the result names no call: tool_name and tool_call_id are missing or empty")
	}
	c.Content, c.Text = w.ContentOf(r.content)
	w.Emit(c)
	return nil
}
