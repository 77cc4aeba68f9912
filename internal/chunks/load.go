package chunks

import "streamer/internal/jsonscan"

// The methods Field return the fields by their keys in JSON, for jsonscan's Load.
// Where a field is missing here, a state that has it is loaded by encoding/json.

// Field returns a pointer to a field by its key.
func (a *Assembler[S]) Field(key string) any {
	switch key {
	case "calls":
		return (*jsonscan.List[Call[S]])(&a.Calls)
	case "latest":
		return &a.Latest
	case "refused":
		return &a.Refused
	case "refused_at":
		return (*jsonscan.List[string])(&a.RefusedAt)
	}
	return nil
}

// Field returns a pointer to a field by its key.
func (c *Call[S]) Field(key string) any {
	if key == "state" {
		return &c.State
	}
	return c.Assembly.Field(key)
}

// Field returns a pointer to a field by its key.
func (a *Assembly) Field(key string) any {
	switch key {
	case "index":
		return &a.Index
	case "id":
		return &a.ID
	case "name":
		return &a.Name
	case "text":
		return &a.Text
	case "joiner":
		return &a.Joiner
	case "provider":
		return &a.Provider
	case "final":
		return &a.Final
	case "object":
		return &a.Object
	case "hold":
		return &a.Hold
	case "sealed":
		return &a.Sealed
	case "closed":
		return (*uint8)(&a.Closed)
	case "cut":
		return &a.Cut
	case "kind":
		return &a.rare().Kind
	case "parent":
		return &a.rare().ParentCall
	case "weak":
		return &a.rare().Weak
	}
	return nil
}
