package jsonscan

// state is the position of a Scanner in the grammar. In the table of steps it
// may also be an action: a step that depends on the nesting.
type state uint8

// The states. No step leads back to the start. Its number, which the table holds
// for every step that is not entered, therefore means that a byte is not
// allowed.
const (
	atStart state = iota
	wantValue
	wantFirstItem // or ]
	wantFirstKey  // or }
	wantKey
	wantColon
	afterValue // in an array or object
	afterAll

	inString
	inEscape // after a backslash
	hex4     // this many hex digits must follow
	hex3
	hex2
	hex1
	rune1 // this many bytes 80..BF must follow
	rune2
	rune3
	afterE0 // the bytes after these are restricted further
	afterED
	afterF0
	afterF4

	afterMinus
	inZero
	inDigits
	afterPoint
	inFraction
	afterE
	afterESign
	inExponent

	inT
	inTr
	inTru
	inF
	inFa
	inFal
	inFals
	inN
	inNu
	inNul

	failed

	states

	nowhere = atStart
)

// The actions, numbered behind the states.
const (
	openKey state = 64 + iota
	closeString
	takeComma
	openObject
	openArray
	closeObject
	closeArray
	endNumber // by the white space behind it
	endLiteral

	firstAction = openKey
)

// steps holds the next state, or an action, for each state and next byte. It is
// immutable.
var steps = grammar()

type table [64][256]state

// on sets the state that follows on each of the bytes.
func (t *table) on(in state, bytes string, next state) {
	for i := range len(bytes) {
		t[in][bytes[i]] = next
	}
}

// span sets the state that follows on each of the bytes from first to last.
func (t *table) span(in state, first, last byte, next state) {
	for b := int(first); b <= int(last); b++ {
		t[in][b] = next
	}
}

const (
	white     = " \t\n\r"
	digits    = "0123456789"
	hexDigits = digits + "abcdefABCDEF"
)

// grammar is RFC 8259, section 2 to 7, and the table of well-formed UTF-8 in
// RFC 3629, section 4.
func grammar() (t table) {
	t.values()
	t.structure()
	t.strings()
	t.runes()
	t.numbers()
	return t
}

func (t *table) values() {
	for _, st := range []state{atStart, wantValue, wantFirstItem} {
		t.on(st, `"`, inString)
		t.on(st, "{", openObject)
		t.on(st, "[", openArray)
		t.on(st, "-", afterMinus)
		t.on(st, digits, inDigits)
		t.on(st, "0", inZero)
		t.on(st, "t", inT)
		t.on(st, "f", inF)
		t.on(st, "n", inN)
	}
	t[inT]['r'], t[inTr]['u'], t[inTru]['e'] = inTr, inTru, endLiteral
	t[inF]['a'], t[inFa]['l'], t[inFal]['s'], t[inFals]['e'] = inFa, inFal, inFals, endLiteral
	t[inN]['u'], t[inNu]['l'], t[inNul]['l'] = inNu, inNul, endLiteral
}

func (t *table) structure() {
	for _, st := range []state{wantValue, wantFirstItem, wantFirstKey, wantKey, wantColon, afterValue, afterAll} {
		t.on(st, white, st)
	}
	t.on(atStart, white, wantValue)
	t[wantFirstItem][']'] = closeArray
	t[wantFirstKey]['}'] = closeObject
	t[wantFirstKey]['"'], t[wantKey]['"'] = openKey, openKey
	t[wantColon][':'] = wantValue
	t[afterValue][','] = takeComma
	t[afterValue]['}'], t[afterValue][']'] = closeObject, closeArray
}

func (t *table) strings() {
	t.span(inString, ' ', 0x7F, inString)
	t[inString]['"'], t[inString]['\\'] = closeString, inEscape
	t.on(inEscape, `"\/bfnrt`, inString)
	t[inEscape]['u'] = hex4
	for st, next := range map[state]state{hex4: hex3, hex3: hex2, hex2: hex1, hex1: inString} {
		t.on(st, hexDigits, next)
	}
}

func (t *table) runes() {
	t.span(inString, 0xC2, 0xDF, rune1)
	t.span(inString, 0xE0, 0xEF, rune2)
	t.span(inString, 0xF0, 0xF4, rune3)
	t[inString][0xE0], t[inString][0xED], t[inString][0xF0], t[inString][0xF4] = afterE0, afterED, afterF0, afterF4
	t.span(rune1, 0x80, 0xBF, inString)
	t.span(rune2, 0x80, 0xBF, rune1)
	t.span(rune3, 0x80, 0xBF, rune2)
	t.span(afterE0, 0xA0, 0xBF, rune1)
	t.span(afterED, 0x80, 0x9F, rune1)
	t.span(afterF0, 0x90, 0xBF, rune2)
	t.span(afterF4, 0x80, 0x8F, rune2)
}

func (t *table) numbers() {
	t.on(afterMinus, digits, inDigits)
	t.on(afterMinus, "0", inZero)
	for _, st := range []state{inZero, inDigits, inFraction, inExponent} {
		t.on(st, white, endNumber)
		t.on(st, ",", takeComma)
		t.on(st, "}", closeObject)
		t.on(st, "]", closeArray)
	}
	t[inZero]['.'], t[inDigits]['.'] = afterPoint, afterPoint
	for _, st := range []state{inZero, inDigits, inFraction} {
		t.on(st, "eE", afterE)
	}
	t.on(afterE, "-+", afterESign)
	for st, next := range map[state]state{
		inDigits: inDigits, afterPoint: inFraction, inFraction: inFraction,
		afterE: inExponent, afterESign: inExponent, inExponent: inExponent,
	} {
		t.on(st, digits, next)
	}
}
