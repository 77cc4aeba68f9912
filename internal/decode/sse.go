package decode

type sseEvent struct{}

func (m *SSEMemory) pending() bool       { return false }
func beginsSSE(data string) bool         { return false }
func (r *Reader) resumeSSE()             {}
func (r *Reader) nextSSE() (piece, bool) { return piece{}, false }
