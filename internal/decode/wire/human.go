package wire

import "streamer/internal/jsonscan"

// PlainText returns the text of the content of a message: a string, or a list of
// strings and of blocks. The texts of a list are joined by line breaks. Images and
// files have no text.
func (w *Writer) PlainText(content jsonscan.Value) string {
	if !content.IsArray() {
		return w.Text(content)
	}
	return w.Build(func(dst []byte) []byte {
		start := len(dst)
		for e := content.Elements(); e.Next(); {
			v := e.Value
			if v.IsObject() {
				v = textOf(v)
			}
			if !v.IsString() || len(v.Raw) <= len(`""`) {
				continue
			}
			if len(dst) > start {
				dst = append(dst, '\n')
			}
			dst = jsonscan.AppendUnquoted(dst, v.Raw[1:len(v.Raw)-1])
		}
		return dst
	})
}

func textOf(block jsonscan.Value) (text jsonscan.Value) {
	for m := block.Members(); m.Next(); {
		switch m.Key {
		case "type":
			if kind := m.Value.Str; kind != "text" && kind != "input_text" {
				return jsonscan.Value{}
			}
		case "text":
			text = m.Value
		}
	}
	return text
}

// IsText reports whether v is the content of a message that a person may have written:
// a string, or a list whose first element is a text, an image or a file.
func IsText(v jsonscan.Value) bool {
	if v.IsString() {
		return true
	}
	e := v.Elements()
	if !e.Next() {
		return false
	}
	switch TypeOf(e.Value) {
	case "text", "image", "image_url", "document", "file", "input_audio":
		return true
	}
	return false
}

// OneText returns the text of a list of one block that has a text and perhaps a type, and
// any other value as ContentOf does.
func (w *Writer) OneText(v jsonscan.Value) (content, text string) {
	if e := v.Elements(); e.Next() {
		only := e.Value
		if t := only.Member("text"); t.IsString() && !e.Next() && onlyText(only) {
			return "", w.Text(t)
		}
	}
	return w.ContentOf(v)
}

func onlyText(block jsonscan.Value) bool {
	for m := block.Members(); m.Next(); {
		if m.Key != "text" && m.Key != "type" {
			return false
		}
	}
	return true
}
