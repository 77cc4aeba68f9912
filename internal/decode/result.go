package decode

import (
	"github.com/tidwall/gjson"
)

func (r *Reader) toolResult(block gjson.Result)             {}
func (r *Reader) toolResults(content gjson.Result) *Problem { return nil }
