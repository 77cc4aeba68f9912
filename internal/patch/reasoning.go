package patch

func signedBlocks(blocks string) bool {
	for _, b := range elements(blocks) {
		for field, v := range members(b) {
			if oneOf(field, "signature data") && text(v) != "" || field == "type" && text(v) == "redacted_thinking" {
				return true
			}
		}
	}
	return false
}

func signedContent(content string) bool {
	for _, b := range elements(content) {
		signed := false
		for name, v := range members(b) {
			switch name {
			case "type":
				signed = signed || text(v) == "redacted_thinking"
			case "signature":
				signed = signed || text(v) != ""
			case "reasoning_content", "extras":
				signed = signed || text(member(v, "signature")) != ""
			}
		}
		if signed && oneOf(text(member(b, "type")), "thinking redacted_thinking reasoning_content reasoning") {
			return true
		}
	}
	return false
}
