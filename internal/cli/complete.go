package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// Complete returns the words that can replace the last of words: commands, flags or
// the values of a flag. It returns none where a file name, a number or text is
// expected.
func (p *Parser) Complete(words []string) []string {
	last := ""
	if len(words) > 0 {
		last, words = words[len(words)-1], words[:len(words)-1]
	}
	n, waiting := p.kong.Model.Node, (*kong.Flag)(nil)
	for _, w := range words {
		switch child := childOf(n, w); {
		case waiting != nil:
			waiting = nil
		case strings.HasPrefix(w, "--"):
			if f := flagOf(n, w); f != nil && !f.IsBool() {
				waiting = f // the next word is its value
			}
		case child != nil:
			n = child
		}
	}
	if name, value, ok := strings.Cut(last, "="); ok && strings.HasPrefix(name, "--") {
		return withPrefix(valuesOf(flagOf(n, name)), value, name+"=")
	}
	if waiting != nil {
		return withPrefix(valuesOf(waiting), last, "")
	}
	return withPrefix(names(n, strings.HasPrefix(last, "-")), last, "")
}

func flagOf(n *kong.Node, word string) *kong.Flag {
	for _, f := range slices.Concat(n.AllFlags(true)...) {
		if "--"+f.Name == word {
			return f
		}
	}
	return nil
}

func valuesOf(f *kong.Flag) []string {
	if f == nil {
		return nil
	}
	return Words(f.Value)
}

func names(n *kong.Node, flags bool) (list []string) {
	if flags {
		for _, f := range slices.Concat(n.AllFlags(true)...) {
			list = append(list, "--"+f.Name)
		}
		slices.Sort(list)
		return list
	}
	for _, c := range n.Children {
		if !c.Hidden {
			list = append(list, c.Name)
		}
	}
	for _, p := range n.Positional {
		list = append(list, Words(p)...)
	}
	return list
}

func withPrefix(words []string, prefix, before string) (list []string) {
	for _, w := range words {
		if strings.HasPrefix(w, prefix) {
			list = append(list, before+w)
		}
	}
	return list
}

// Script returns a script for bash, zsh or fish that completes the command lines of
// a program by its command complete. A shell completes file names where there is no
// other word.
func Script(shell, program string) (string, error) {
	text, ok := map[string]string{"bash": bash, "zsh": zsh, "fish": fish}[shell]
	if !ok {
		return "", fmt.Errorf("no script for the shell %q: need bash, zsh or fish", shell)
	}
	return strings.ReplaceAll(text, "PROGRAM", program), nil
}

// bash splits words at = too, so the last two or three words may be one.
const bash = `_PROGRAM() {
  local line=("${COMP_WORDS[@]:1:COMP_CWORD}") cur=${COMP_WORDS[COMP_CWORD]}
  local n=${#line[@]}
  if [ "$cur" = = ]; then
    line=("${line[@]:0:n-2}" "${line[n-2]}=")
    cur=
  elif [ "$n" -gt 2 ] && [ "${line[n-2]}" = = ]; then
    line=("${line[@]:0:n-3}" "${line[n-3]}=$cur")
  fi
  local words
  mapfile -t words < <(PROGRAM complete -- "${line[@]}" 2>/dev/null)
  COMPREPLY=("${words[@]#--*=}")
}
complete -o default -F _PROGRAM PROGRAM
`

const zsh = `#compdef PROGRAM
_PROGRAM() {
  local -a list
  list=("${(@f)$(PROGRAM complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ -n "$list" ]]; then
    compadd -a list
  else
    _files
  fi
}
if [ "$funcstack[1]" = _PROGRAM ]; then
  _PROGRAM "$@"
else
  compdef _PROGRAM PROGRAM
fi
`

const fish = `complete -c PROGRAM -a '(PROGRAM complete -- (commandline -opc)[2..] (commandline -ct) 2>/dev/null)'
`
