package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"streamer/internal/cli"

	"github.com/alecthomas/kong"
)

// writeReference writes the commands and their flags as Markdown. The flags of a
// group that several commands have are listed once, with their defaults in the
// commands that have no defaults of their own.
func writeReference(w io.Writer, model *kong.Application) {
	r := reference{groups: map[string]int{}, flags: map[string]*kong.Flag{}}
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
	groups   map[string]int        // how many flags each has that is written
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
	names := map[string][]string{} // by group
	for _, f := range n.Flags {
		if f.Group == nil {
			own = append(own, f)
			continue
		}
		names[f.Group.Key] = append(names[f.Group.Key], "`--"+f.Name+"`")
		if len(names[f.Group.Key]) == 1 {
			groups = append(groups, f.Group.Key)
		}
	}
	writeTable(b, n, own)
	for i, key := range groups {
		groups[i] = groupLink(n, key)
		if len(names[key]) < r.groups[key] {
			groups[i] = strings.Join(names[key], ", ") + " of " + groups[i]
		}
	}
	if len(groups) > 0 {
		fmt.Fprintf(b, "\nFurther flags: %s.%s\n", strings.Join(groups, ", "), r.otherDefaults(n))
	}
}

// groupLink returns the link to a group of flags of a command.
func groupLink(n *kong.Node, key string) string {
	i := slices.IndexFunc(n.Flags, func(f *kong.Flag) bool { return f.Group != nil && f.Group.Key == key })
	g := n.Flags[i].Group
	return "[" + strings.TrimSuffix(g.Title, ":") + "](#" + anchor(g) + ")"
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
		if key := groupKey(n, i, next); f.Group != nil && r.groups[key] == 0 {
			r.groups[key] = next - i
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
