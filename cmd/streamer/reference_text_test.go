package main

import (
	"fmt"
	"io"
	"strings"

	"streamer/internal/cli"

	"github.com/alecthomas/kong"
)

// writeReference writes the commands and their flags as Markdown. The flags of a
// group that several commands have are listed once, with their defaults in the
// commands that have no defaults of their own.
func writeReference(w io.Writer, model *kong.Application) {
	r := reference{groups: map[string]bool{}, flags: map[string]*kong.Flag{}}
	var groups strings.Builder
	commands := model.Leaves(true)
	for _, n := range commands {
		if len(n.Tag.Vars) == 0 {
			r.shared(&groups, n)
		}
	}
	for _, n := range commands {
		r.command(n)
	}
	fmt.Fprintf(w, "## Commands\n%s\n## Shared flags\n%s", r.commands.String(), groups.String())
}

type reference struct {
	commands strings.Builder
	groups   map[string]bool       // that are written
	flags    map[string]*kong.Flag // of these groups, by name
}

// command writes a command with its own flags.
func (r *reference) command(n *kong.Node) {
	b := &r.commands
	fmt.Fprintf(b, "\n### %s\n\n    streamer %s\n\n%s", n.Path(), n.Summary(), n.Help)
	detail := strings.TrimSpace(n.Detail)
	if detail != "" {
		fmt.Fprintf(b, "\n\n%s", indented(detail))
	}
	b.WriteString("\n")
	var own []*kong.Flag
	var groups []string
	for _, f := range n.Flags {
		if f.Group == nil {
			own = append(own, f)
		} else if link := "[" + strings.TrimSuffix(f.Group.Title, ":") + "](#" + anchor(f.Group) + ")"; len(groups) == 0 || groups[len(groups)-1] != link {
			groups = append(groups, link)
		}
	}
	writeTable(b, n, own)
	if len(groups) > 0 {
		fmt.Fprintf(b, "\nFurther flags: %s.%s\n", strings.Join(groups, ", "), r.otherDefaults(n))
	}
}

// otherDefaults returns a sentence about the defaults of a command that differ from
// those in the shared groups, "" if there are none.
func (r *reference) otherDefaults(n *kong.Node) string {
	var list []string
	for _, f := range n.Flags {
		if common := r.flags[f.Name]; f.Group != nil && common != nil && common.Default != f.Default {
			list = append(list, fmt.Sprintf("`--%s %s`", f.Name, cli.Short(f.Default)))
		}
	}
	if len(list) == 0 {
		return ""
	}
	return " Its own defaults: " + strings.Join(list, ", ") + "."
}

// indented widens the indentation of examples to the four columns of Markdown.
func indented(text string) string {
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		if strings.HasPrefix(l, "  ") {
			lines[i] = "  " + l
		}
	}
	return strings.Join(lines, "\n")
}

// anchor returns the anchor of the heading of a group.
func anchor(g *kong.Group) string {
	return strings.NewReplacer(" ", "-", ",", "", ":", "").Replace(strings.ToLower(g.Title))
}

// shared writes the groups of flags of a command that are not written yet.
func (r *reference) shared(w io.Writer, n *kong.Node) {
	for i := 0; i < len(n.Flags); {
		f, next := n.Flags[i], i+1
		for next < len(n.Flags) && f.Group != nil && n.Flags[next].Group != nil && n.Flags[next].Group.Key == f.Group.Key {
			next++
		}
		if key := groupKey(n, i, next); f.Group != nil && !r.groups[key] {
			r.groups[key] = true
			for _, f := range n.Flags[i:next] {
				r.flags[f.Name] = f
			}
			fmt.Fprintf(w, "\n### %s\n", strings.TrimSuffix(f.Group.Title, ":"))
			writeTable(w, n, n.Flags[i:next])
		}
		i = next
	}
}

func groupKey(n *kong.Node, from, to int) string {
	if from >= to || n.Flags[from].Group == nil {
		return ""
	}
	return n.Flags[from].Group.Key
}

func writeTable(w io.Writer, n *kong.Node, flags []*kong.Flag) {
	if len(flags) == 0 {
		return
	}
	fmt.Fprint(w, "\n| flag | variable | meaning |\n|---|---|---|\n")
	for _, f := range flags {
		name := "--" + f.Name
		if !f.IsBool() {
			name += " " + f.FormatPlaceHolder()
		}
		fmt.Fprintf(w, "| `%s` | `%s` | %s |\n", name, cli.EnvName(n, f), strings.ReplaceAll(cli.FlagHelp(f.Value), "|", `\|`))
	}
}
