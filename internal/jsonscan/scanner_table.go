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

// class groups the bytes that the grammar treats alike.
type class uint8

// The classes. Those that hold one byte are named after it.
const (
	other     class = iota // printable ASCII of no other class, DEL
	control                // and white space in a string
	lineWhite              // tab, line feed, carriage return
	space
	quote
	backslash
	slash
	braceOpen
	braceClose
	bracketOpen
	bracketClose
	colon
	comma
	minus
	plus
	point
	zero
	digit // 1 to 9
	letterA
	letterB
	letterE
	letterF
	letterL
	letterN
	letterR
	letterS
	letterT
	letterU
	capitalE
	otherHex // c, d and the capitals A, B, C, D, F
	byte80   // 80 to 8F
	byte90   // 90 to 9F
	byteA0   // A0 to BF
	byteC2   // C2 to DF
	byteE0
	byteE1 // E1 to EF without ED
	byteED
	byteF0
	byteF1 // F1 to F3
	byteF4
	never // C0, C1, F5 to FF
)

// steps holds the next state, or an action, for each state and class of the next
// byte. It is immutable.
var steps = grammar()

// classes holds the class of each byte. It is immutable.
var classes = classify()

// grammar is RFC 8259, section 2 to 7, and the table of well-formed UTF-8 in
// RFC 3629, section 4.
func grammar() (t [64][64]state) {
	valueSteps(&t)
	structureSteps(&t)
	stringSteps(&t)
	runeSteps(&t)
	numberSteps(&t)
	literalSteps(&t)
	return t
}

func valueSteps(t *[64][64]state) {
	for _, st := range []state{atStart, wantValue, wantFirstItem} {
		row := &t[st]
		row[quote] = inString
		row[braceOpen], row[bracketOpen] = openObject, openArray
		row[minus], row[zero], row[digit] = afterMinus, inZero, inDigits
		row[letterT], row[letterF], row[letterN] = inT, inF, inN
	}
}

func structureSteps(t *[64][64]state) {
	for _, st := range []state{wantValue, wantFirstItem, wantFirstKey, wantKey, wantColon, afterValue, afterAll} {
		t[st][space], t[st][lineWhite] = st, st
	}
	t[atStart][space], t[atStart][lineWhite] = wantValue, wantValue
	t[wantFirstItem][bracketClose] = closeArray
	t[wantFirstKey][braceClose] = closeObject
	t[wantFirstKey][quote], t[wantKey][quote] = openKey, openKey
	t[wantColon][colon] = wantValue
	t[afterValue][comma] = takeComma
	t[afterValue][braceClose], t[afterValue][bracketClose] = closeObject, closeArray
}

func stringSteps(t *[64][64]state) {
	for c := space; c < byte80; c++ {
		t[inString][c] = inString
	}
	t[inString][other] = inString
	t[inString][quote], t[inString][backslash] = closeString, inEscape
	for _, c := range []class{quote, backslash, slash, letterB, letterF, letterN, letterR, letterT} {
		t[inEscape][c] = inString
	}
	t[inEscape][letterU] = hex4
	for _, c := range []class{zero, digit, letterA, letterB, letterE, letterF, capitalE, otherHex} {
		t[hex4][c], t[hex3][c], t[hex2][c], t[hex1][c] = hex3, hex2, hex1, inString
	}
}

func runeSteps(t *[64][64]state) {
	row := &t[inString]
	row[byteC2], row[byteE0], row[byteE1], row[byteED] = rune1, afterE0, rune2, afterED
	row[byteF0], row[byteF1], row[byteF4] = afterF0, rune3, afterF4
	for _, c := range []class{byte80, byte90, byteA0} {
		t[rune1][c], t[rune2][c], t[rune3][c] = inString, rune1, rune2
	}
	t[afterE0][byteA0] = rune1
	t[afterED][byte80], t[afterED][byte90] = rune1, rune1
	t[afterF0][byte90], t[afterF0][byteA0] = rune2, rune2
	t[afterF4][byte80] = rune2
}

func numberSteps(t *[64][64]state) {
	t[afterMinus][zero], t[afterMinus][digit] = inZero, inDigits
	for _, st := range []state{inZero, inDigits} {
		t[st][point] = afterPoint
	}
	for _, st := range []state{inZero, inDigits, inFraction} {
		t[st][letterE], t[st][capitalE] = afterE, afterE
	}
	t[afterE][minus], t[afterE][plus] = afterESign, afterESign
	for _, c := range []class{zero, digit} {
		t[inDigits][c] = inDigits
		t[afterPoint][c], t[inFraction][c] = inFraction, inFraction
		t[afterE][c], t[afterESign][c], t[inExponent][c] = inExponent, inExponent, inExponent
	}
	for _, st := range []state{inZero, inDigits, inFraction, inExponent} {
		row := &t[st]
		row[space], row[lineWhite], row[comma] = endNumber, endNumber, takeComma
		row[braceClose], row[bracketClose] = closeObject, closeArray
	}
}

func literalSteps(t *[64][64]state) {
	t[inT][letterR], t[inTr][letterU], t[inTru][letterE] = inTr, inTru, endLiteral
	t[inF][letterA], t[inFa][letterL], t[inFal][letterS], t[inFals][letterE] = inFa, inFal, inFals, endLiteral
	t[inN][letterU], t[inNu][letterL], t[inNul][letterL] = inNu, inNul, endLiteral
}

func classify() (t [256]class) {
	mark := func(from, to byte, c class) {
		for b := int(from); b <= int(to); b++ {
			t[b] = c
		}
	}
	mark(0x00, 0x1F, control)
	mark('1', '9', digit)
	mark('A', 'F', otherHex)
	mark(0x80, 0x8F, byte80)
	mark(0x90, 0x9F, byte90)
	mark(0xA0, 0xBF, byteA0)
	mark(0xC0, 0xFF, never)
	mark(0xC2, 0xDF, byteC2)
	mark(0xE0, 0xE0, byteE0)
	mark(0xE1, 0xEF, byteE1)
	mark(0xED, 0xED, byteED)
	mark(0xF0, 0xF0, byteF0)
	mark(0xF1, 0xF3, byteF1)
	mark(0xF4, 0xF4, byteF4)
	for _, one := range []struct {
		bytes string
		class class
	}{
		{" ", space},
		{"\t\n\r", lineWhite},
		{`"`, quote},
		{`\`, backslash},
		{"/", slash},
		{"{", braceOpen},
		{"}", braceClose},
		{"[", bracketOpen},
		{"]", bracketClose},
		{":", colon},
		{",", comma},
		{"-", minus},
		{"+", plus},
		{".", point},
		{"0", zero},
		{"a", letterA},
		{"b", letterB},
		{"cd", otherHex},
		{"e", letterE},
		{"E", capitalE},
		{"f", letterF},
		{"l", letterL},
		{"n", letterN},
		{"r", letterR},
		{"s", letterS},
		{"t", letterT},
		{"u", letterU},
	} {
		for i := range len(one.bytes) {
			t[one.bytes[i]] = one.class
		}
	}
	return t
}
