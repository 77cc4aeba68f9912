package jsonscan

// endings holds, for each state within a value, the next part of the shortest end of
// the text. It is immutable. An empty one closes the innermost array or object.
var endings = [states]string{
	atStart: "null", wantValue: "null", wantFirstItem: "]", wantFirstKey: "}",
	wantKey: `"":null`, wantColon: ":null",
	inString: `"`, inEscape: `\`, hex4: "0", hex3: "0", hex2: "0", hex1: "0",
	rune1: "\x80", rune2: "\x80", rune3: "\x80",
	afterE0: "\xA0", afterED: "\x80", afterF0: "\x90", afterF4: "\x80",
	afterMinus: "0", afterPoint: "0", afterE: "0", afterESign: "0",
	inT: "rue", inTr: "ue", inTru: "e",
	inF: "alse", inFa: "lse", inFal: "se", inFals: "e", //nolint:misspell // the rest of false
	inN: "ull", inNu: "ll", inNul: "l",
}

// AppendEnd appends a text after which the text so far is one complete value. It
// appends nothing to a text that is complete or Bad. The Scanner does not consume
// the text that is appended.
func (s *Scanner) AppendEnd(dst []byte) []byte {
	rest := *s
	for rest.Status() == More {
		part := endings[rest.state]
		switch {
		case part != "":
		case rest.open&1 == 1:
			part = "}"
		default:
			part = "]"
		}
		dst = append(dst, part...)
		rest.Write(part)
	}
	return dst
}
