package jsonscan

// Field is a member that is read: the value of Key is assigned to To, if To is not nil.
type Field struct {
	Key string
	To  *Value
}

// From returns the Field that assigns the member with a key to v.
func (v *Value) From(key string) Field { return Field{key, v} }

// Read assigns members of an object to variables, the last one where a key repeats:
//
//	v.Read(id.From("id"), name.From("name"))
func (v Value) Read(fields ...Field) {
	at := 0
	for m := v.Members(); m.Next(); {
		at, _ = Assign(fields, at, m.Key, &m.Value)
	}
}

// Assign assigns a member to the field with its key and reports whether there is one. The
// search begins at a position, and Assign returns the one for the next member: members
// mostly come in the order of the fields.
func Assign(fields []Field, at int, key string, v *Value) (next int, found bool) {
	for range fields {
		if at >= len(fields) {
			at = 0
		}
		f := &fields[at]
		at++
		if f.Key == key {
			if f.To != nil {
				*f.To = *v
			}
			return at, true
		}
	}
	return at, false
}
