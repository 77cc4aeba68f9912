package wrap

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
)

// processes returns the processes of the system, without those that have ended and that their
// parents have not taken note of.
func processes() (list []process) {
	files, _ := filepath.Glob("/proc/[0-9]*/stat") // the pattern is valid
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			continue // it has ended
		}
		var p process
		_, err = fmt.Sscan(string(text), &p.id)
		rest := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:]) // the name before may have blanks
		if err != nil || len(rest) < 20 {
			continue
		}
		if _, err := fmt.Sscan(string(rest[1])+" "+string(rest[19]), &p.parent, &p.started); err == nil && string(rest[0]) != "Z" {
			list = append(list, p)
		}
	}
	return list
}
