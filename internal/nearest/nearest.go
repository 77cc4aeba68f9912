// Package nearest suggests a known name for a misspelt one.
//
// The same arguments always return the same name.
package nearest

import "strings"

// Name returns the name among names that is nearest to a misspelt word, ""
// where there are no names. Case and underscores do not count. A name that
// contains the word, or is contained in it, is nearer than any other; then the
// one that fewest edits lead to; then the one that stands first.
func Name(word string, names []string) string {
	best, least := "", 0
	word = plain(word[:min(len(word), longest)])
	for _, name := range names {
		d := distance(word, plain(name))
		if best == "" || d < least {
			best, least = name, d
		}
	}
	return best
}

// Typo returns the name among names that at most two edits lead to, "" if there is none.
func Typo(word string, names []string) string {
	name := Name(word, names)
	if len(word) > longest || edits(plain(word), plain(name)) > 2 {
		return ""
	}
	return name
}

// longest bounds the bytes of a word that are compared: no name is longer.
const longest = 64

// apart is more than the edits between any two words.
const apart = 2 * longest

// plain returns a word in lower case, without underscores.
func plain(word string) string {
	return strings.ReplaceAll(strings.ToLower(word), "_", "")
}

func distance(word, name string) int {
	d := edits(word, name)
	if word == "" || !strings.Contains(name, word) && !strings.Contains(word, name) {
		d += apart
	}
	return d
}

// edits returns the Levenshtein distance of two words, in bytes.
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
