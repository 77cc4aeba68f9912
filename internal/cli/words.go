package cli

import "strings"

// Join returns the words with commas, as the tag enum has them.
func Join[S ~string](words []S) string {
	list := make([]string, len(words))
	for i, w := range words {
		list[i] = string(w)
	}
	return strings.Join(list, ",")
}

// Or returns the words as a list: "a, b or c".
func Or[S ~string](words []S) string {
	list := strings.Split(Join(words), ",")
	last := len(list) - 1
	return strings.Join(list[:last], ", ") + " or " + list[last]
}
