package tap

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/tidwall/gjson"
)

// role is what an item of a history is.
type role byte

const (
	aside  role = iota // instructions
	model              // an answer of the model, or a part of one
	result             // the result of a tool
	human
)

// item is a part of the history of a request.
type item struct {
	role role
	raw  string   // of a result: the body of an input
	text string   // of a human message, or of the model
	ids  []string // of the calls of the model, or of the result
}

// key calls write with what identifies an item among those that follow the same answer. What
// varies between two requests is not in it, such as where a cache ends.
func (it *item) key(write func(text string)) {
	if it.role == result && len(it.ids) == 0 {
		write(it.raw)
		return
	}
	write(it.text)
	write("\x00" + strings.Join(it.ids, "\x00"))
}

// digestOf returns the digest of texts, which can be long.
func digestOf(texts ...string) (sum [sha256.Size]byte) {
	h := sha256.New()
	for _, text := range texts {
		writeText(h, text)
	}
	h.Sum(sum[:0])
	return sum
}

// writeText writes a text to a hash, without a copy of all of it.
func writeText(h io.Writer, text string) {
	for len(text) > 0 {
		n := min(len(text), 4<<10)
		_, _ = h.Write([]byte(text[:n]))
		text = text[n:]
	}
}

// itemsOf returns the items of a request's history.
func itemsOf(shape string, body gjson.Result) (list []item) {
	add := func(it item) { list = append(list, it) }
	switch shape {
	case "responses":
		input := body.Get("input")
		if input.Type == gjson.String {
			return []item{{role: human, text: input.Str}}
		}
		for _, v := range input.Array() {
			add(responsesItem(v))
		}
	case "gemini":
		contents := body.Get("contents")
		if !contents.Exists() {
			contents = body.Get("request.contents")
		}
		for _, v := range contents.Array() {
			list = append(list, blocks(v, v.Get("parts"))...)
		}
	default:
		for _, v := range body.Get("messages").Array() {
			if v.Get("role").Str == "tool" {
				add(item{role: result, raw: v.Raw, ids: texts(v.Get("tool_call_id"))})
				continue
			}
			list = append(list, blocks(v, v.Get("content"))...)
		}
	}
	return list
}

// responsesItem returns an item of Responses:
// https://platform.openai.com/docs/api-reference/responses/create
func responsesItem(v gjson.Result) item {
	kind := v.Get("type").Str
	switch {
	case strings.HasSuffix(kind, "_output"):
		return item{role: result, raw: v.Raw, ids: texts(v.Get("call_id"))}
	case kind == "mcp_approval_response":
		return item{role: result, raw: v.Raw, ids: texts(v.Get("approval_request_id"))}
	case kind == "message" || kind == "":
		switch v.Get("role").Str {
		case "user":
			return item{role: human, text: textOf(v.Get("content"))}
		case "assistant":
			return item{role: model, text: textOf(v.Get("content"))}
		}
		return item{}
	case strings.HasSuffix(kind, "_call"), kind == "reasoning", kind == "mcp_approval_request":
		return item{role: model, ids: texts(v.Get("call_id"))}
	}
	return item{}
}

// blocks returns the items of a message whose content is a text or a list of blocks. Text
// beside results is not a human message: agents add reminders there.
func blocks(message, content gjson.Result) []item {
	switch message.Get("role").Str {
	case "assistant", "model":
		return []item{{role: model, text: textOf(content), ids: callsOf(message, content)}}
	case "user", "":
	default:
		return []item{{}}
	}
	var results []item
	for _, b := range content.Array() {
		switch {
		case b.Get("type").Str == "tool_result":
			results = append(results, item{role: result, raw: b.Raw, ids: texts(b.Get("tool_use_id"))})
		case b.Get("toolResult").Exists():
			results = append(results, item{role: result, raw: b.Raw, ids: texts(b.Get("toolResult.toolUseId"))})
		case b.Get("functionResponse").Exists():
			results = append(results, item{role: result, raw: b.Raw, ids: texts(b.Get("functionResponse.id"))})
		}
	}
	if results != nil {
		return results
	}
	if text := textOf(content); text != "" || !content.IsArray() {
		return []item{{role: human, text: text}}
	}
	return []item{{}}
}

// callsOf returns the ids of the calls of a model's message.
func callsOf(message, content gjson.Result) (ids []string) {
	for _, c := range message.Get("tool_calls").Array() {
		ids = append(ids, texts(c.Get("id"))...)
	}
	for _, b := range content.Array() {
		for _, path := range []string{"toolUse.toolUseId", "functionCall.id"} {
			ids = append(ids, texts(b.Get(path))...)
		}
		if b.Get("type").Str == "tool_use" {
			ids = append(ids, texts(b.Get("id"))...)
		}
	}
	return ids
}

func texts(v gjson.Result) []string {
	if v.Str == "" {
		return nil
	}
	return []string{v.Str}
}

// textOf returns the text of a content without the blocks that agents add to what people
// write.
func textOf(content gjson.Result) string {
	if content.Type == gjson.String {
		return content.Str
	}
	var list []string
	for _, b := range content.Array() {
		text := b.Get("text").Str
		if b.Get("thought").Bool() || text == "" || added(text) {
			continue
		}
		list = append(list, text)
	}
	return strings.Join(list, "\n")
}

// added reports whether an agent wrote a block of a human message: Claude Code adds
// reminders, and Codex its environment and the user's instructions.
func added(text string) bool {
	text = strings.TrimSpace(text)
	for _, tag := range []string{"system-reminder", "environment_context", "user_instructions"} {
		if strings.HasPrefix(text, "<"+tag+">") && strings.HasSuffix(text, "</"+tag+">") {
			return true
		}
	}
	return false
}

// tail returns the items behind the last answer of the model, which are new, and their
// keys: all that is before an item is in its key, because a result or a text can be the same
// in each turn. after identifies what came before the list. answered reports whether there is
// an answer.
func tail(list []item, after string) (news []item, keys []string, answered bool) {
	from := len(list)
	for from > 0 && list[from-1].role != model {
		from--
	}
	h := sha256.New()
	writeText(h, after)
	for i := range list {
		list[i].key(func(text string) { writeText(h, text) })
		h.Write([]byte{0, byte(list[i].role)})
		if i >= from && list[i].role >= result {
			news = append(news, list[i])
			keys = append(keys, hex.EncodeToString(h.Sum(nil)[:12]))
		}
	}
	return news, keys, from > 0
}

// firstHuman returns the text of the first human message, "" if there is none.
func firstHuman(list []item) string {
	for i := range list {
		if list[i].role == human && list[i].text != "" {
			return list[i].text
		}
	}
	return ""
}

// instructions returns what a request tells the model before the conversation. The first
// block of Claude Code changes with its version.
func instructions(body gjson.Result) string {
	for _, path := range []string{"instructions", "system_instruction", "systemInstruction"} {
		if v := body.Get(path); v.Exists() {
			return v.Raw
		}
	}
	system := body.Get("system")
	if !system.IsArray() {
		system = firstOr(system, body.Get(`messages.#(role=="system").content`), body.Get(`input.#(role=="developer").content`))
		return system.Raw
	}
	var list []string
	for _, b := range system.Array() {
		if text := b.Get("text").Str; !strings.HasPrefix(text, "x-anthropic-billing-header") {
			list = append(list, text)
		}
	}
	return strings.Join(list, "\n")
}

func firstOr(list ...gjson.Result) (v gjson.Result) {
	for _, v = range list {
		if v.Exists() {
			break
		}
	}
	return v
}

// denials are the beginnings of the results with which agents report that a person refused
// a call: Claude Code.
var denials = [...]string{
	"The user doesn't want to proceed with this tool use.",
	"The user doesn't want to take this action right now.",
}

// maxItem is the length of an item from which its body is not made before it is shortened.
const maxItem = 8 << 20

// shortenedTo is the number of bytes that are left of an item that is larger than an input.
const shortenedTo = 32 << 10

// shortened returns an item that is larger than an input with its beginning alone.
func (it *item) shortened() *item {
	all := it.text
	if it.role == result {
		all = it.raw
	}
	text := strings.ToValidUTF8(all[:min(shortenedTo, len(all))], "") +
		fmt.Sprintf("… (%d bytes; the rest is not stored, as an input is smaller)", len(all))
	if it.role != result {
		return &item{role: it.role, text: text}
	}
	body := map[string]string{"content": text, "tool_call_id": strings.Join(it.ids, "")}
	if gjson.Get(it.raw, "is_error").Bool() {
		body["status"] = "error"
	}
	raw, _ := json.Marshal(body) // cannot fail
	return &item{role: result, raw: string(raw), ids: it.ids}
}

// input returns the body of the input for a result. A refusal of a person is stated.
func (it *item) input() []byte {
	v := gjson.Parse(it.raw)
	if v.Get("is_error").Bool() && len(it.ids) == 1 {
		content := textOf(v.Get("content"))
		for _, d := range denials {
			if strings.HasPrefix(content, d) {
				return []byte(`{"tool_call_id":` + v.Get("tool_use_id").Raw + `,"content":` + v.Get("content").Raw + `,"status":"denied"}`)
			}
		}
	}
	return []byte(it.raw)
}
