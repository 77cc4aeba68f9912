package lifecycle

import "streamer/internal/jsonscan"

// The methods Field return the fields by their keys in JSON, for jsonscan's Load.
// Where a field is missing here, a state that has it is loaded by encoding/json.

// Field returns a pointer to a field by its key.
func (s *State) Field(key string) any {
	switch key {
	case "time":
		return &s.Time
	case "last":
		return &s.Last
	case "run":
		s.Run = new(Run)
		return s.Run
	case "last_run":
		return &s.LastRun
	case "turn":
		return (*uint8)(&s.Turn)
	case "ids":
		return &s.IDs
	case "first":
		return &s.First
	case "messages":
		return (*jsonscan.Pointers[Message])(&s.Messages)
	case "memory":
		return &s.Memory
	case "human":
		return &s.Human
	}
	return nil
}

// Field returns a pointer to a field by its key.
func (r *Run) Field(key string) any {
	switch key {
	case "id":
		return &r.ID
	case "asked":
		return &r.Asked
	case "detail":
		return &r.Detail
	case "failed":
		return &r.Failed
	case "explicit":
		return &r.Explicit
	case "rests":
		return &r.Rests
	}
	return nil
}

// Field returns a pointer to a field by its key.
func (m *Message) Field(key string) any {
	switch key {
	case "ns":
		return &m.Namespace
	case "id":
		return &m.ID
	case "choice":
		return &m.Choice
	case "phase":
		return (*uint8)(&m.Phase)
	case "calls":
		return &m.Assembler
	case "run":
		return &m.Run
	case "parts":
		return &m.Parts
	case "role":
		return &m.Role
	case "shape":
		return &m.Shape
	case "reason":
		return &m.Reason
	case "usage":
		return &m.Usage
	case "alias":
		return &m.Alias
	case "wait":
		return &m.Wait
	}
	return m.flag(key)
}

// flag returns a pointer to a field that is true or false.
func (m *Message) flag(key string) any {
	switch key {
	case "varies":
		return &m.Varies
	case "renamed":
		return &m.Renamed
	case "truncated":
		return &m.Truncated
	case "quiet":
		return &m.Quiet
	case "overtaken":
		return &m.Overtaken
	case "roles":
		return &m.Roles
	case "next":
		return &m.Next
	case "superseded":
		return &m.Superseded
	case "nested":
		return &m.Nested
	}
	return nil
}

// Field returns a pointer to a field by its key.
func (p *Parts) Field(key string) any {
	switch key {
	case "n":
		return &p.N
	case "kind":
		return &p.Kind
	case "wire":
		return &p.Wire
	case "sent":
		return &p.Sent
	case "joiner":
		return &p.Joiner
	case "held":
		return &p.Held
	case "sent_at":
		return &p.SentAt
	}
	return nil
}

// Field returns a pointer to a field by its key.
func (c *CallState) Field(key string) any {
	switch key {
	case "call":
		return &c.Call
	case "status":
		return (*string)(&c.Status)
	case "id":
		return &c.ID
	case "begun":
		return &c.Begun
	case "expires":
		return &c.Expires
	case "complete":
		return &c.Complete
	case "deadline":
		return &c.Deadline
	case "sent":
		return &c.Sent
	case "sent_at":
		return &c.SentAt
	case "result":
		return &c.Result
	case "args":
		return &c.Args
	case "uid":
		return &c.rare().UID
	case "wait":
		return &c.rare().InterruptID
	case "synth":
		return &c.Synth
	case "usable":
		return &c.Usable
	case "started":
		return &c.Started
	case "reported":
		return &c.Reported
	case "old":
		return &c.Old
	}
	return nil
}

// Field returns a pointer to a field by its key.
func (m *Memory) Field(key string) any {
	switch key {
	case "closed":
		return (*jsonscan.List[Closed])(&m.Closed)
	case "messages":
		return (*jsonscan.List[string])(&m.Messages)
	case "orphans":
		return &m.Orphans
	case "muted":
		return &m.Muted
	}
	return nil
}

// Field returns a pointer to a field by its key.
func (c *Closed) Field(key string) any {
	switch key {
	case "call":
		return &c.Call
	case "id":
		return &c.ID
	case "name":
		return &c.Name
	case "uid":
		return &c.UID
	case "synth":
		return &c.Synth
	case "message":
		return &c.Message
	case "ns":
		return &c.Namespace
	case "choice":
		return &c.Choice
	case "index":
		return &c.Index
	case "run":
		return &c.Run
	case "args":
		return &c.Args
	case "real":
		return &c.Real
	case "others":
		return (*string)(&c.Others)
	case "task":
		return &c.Task
	case "child":
		return &c.Child
	}
	return nil
}
