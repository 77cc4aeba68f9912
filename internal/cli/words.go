package cli

import (
	"strings"

	"github.com/alecthomas/kong"
)

// setWords sets the words that flags with the tag words accept, and puts them in the
// place of WORDS in their help. The command checks the words of a flag whose tag ends
// with ",open". Variables of kong would do the same, but each is expanded for each
// flag, which takes tens of milliseconds.
func setWords(n *kong.Node, words map[string][]string) {
	for _, f := range n.Flags {
		name, open := strings.CutSuffix(f.Tag.Get("words"), ",open")
		list := words[name]
		if len(list) == 0 {
			continue
		}
		f.Help = strings.Replace(f.Help, "WORDS", or(list), 1)
		if !open {
			f.Enum = "," + strings.Join(list, ",") // "" is a flag without a value
		}
	}
	for _, c := range n.Children {
		setWords(c, words)
	}
}

// Texts returns words of any type of text as strings.
func Texts[S ~string](words []S) []string {
	list := make([]string, len(words))
	for i, w := range words {
		list[i] = string(w)
	}
	return list
}

// or returns the words as a list: "a, b or c".
func or(words []string) string {
	last := len(words) - 1
	if last == 0 {
		return words[0]
	}
	return strings.Join(words[:last], ", ") + " or " + words[last]
}
