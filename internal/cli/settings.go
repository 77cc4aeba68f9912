package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"streamer/internal/nearest"

	"github.com/alecthomas/kong"
	"go.yaml.in/yaml/v3"
)

type setting struct {
	Value  any    `json:"value"`
	Source string `json:"source"`
}

// WriteSettings writes the value and the source of each flag that means the same in
// all commands, as a configuration file with the sources as comments. Passwords are
// masked.
func (i *Invocation) WriteSettings(w io.Writer) error {
	group := ""
	for _, f := range i.shared() {
		if f.Group.Key != group {
			if group != "" {
				fmt.Fprintln(w)
			}
			group = f.Group.Key
			fmt.Fprintf(w, "# %s\n", strings.TrimSuffix(f.Group.Title, ":"))
		}
		node := yaml.Node{}
		if err := node.Encode(valueOf(f)); err != nil {
			return err
		}
		node.Style = yaml.FlowStyle
		text, err := yaml.Marshal(map[string]*yaml.Node{f.Name: &node})
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(w, "%-48s # %s%s\n", strings.TrimSpace(string(text)), i.sourceOf(f), meaningOfZero(f)); err != nil {
			return err
		}
	}
	return nil
}

// zeroMeaning matches the part of a help that states what the zero value means.
var zeroMeaning = regexp.MustCompile(`; if (?:0|empty), ([^;]+)`)

// meaningOfZero returns what the value of a flag means, after a colon, if it is the
// zero value and the help of the flag states it; otherwise "".
func meaningOfZero(f *kong.Flag) string {
	if m := zeroMeaning.FindStringSubmatch(f.Help); m != nil && f.Target.IsZero() {
		return ": " + m[1]
	}
	return ""
}

// WriteJSON writes the settings as a JSON object.
func (i *Invocation) WriteJSON(w io.Writer) error {
	list := map[string]setting{}
	for _, f := range i.shared() {
		list[f.Name] = setting{valueOf(f), i.sourceOf(f)}
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(list)
}

func (i *Invocation) shared() []*kong.Flag {
	return slices.DeleteFunc(i.Flags(), func(f *kong.Flag) bool { return !shared(f) })
}

// valueOf returns the value of a flag as text, a number, a truth value or a list.
func valueOf(f *kong.Flag) any {
	switch v := f.Target.Interface().(type) {
	case time.Duration:
		return Short(v.String())
	case int, int64, bool:
		return v
	}
	if f.Tag.Has("secret") {
		return maskPath(f.Target.String())
	}
	if !f.IsSlice() {
		return mask(f.Target.String())
	}
	list := []string{}
	for j := range f.Target.Len() {
		list = append(list, mask(fmt.Sprint(f.Target.Index(j).Interface())))
	}
	return list
}

// Short returns a duration without the zero minutes and seconds at its end.
func Short(d string) string {
	if strings.HasSuffix(d, "m0s") {
		d = strings.TrimSuffix(d, "0s")
	}
	if strings.HasSuffix(d, "h0m") {
		d = strings.TrimSuffix(d, "0m")
	}
	return d
}

// mask replaces the passwords in URLs that commas separate. A URL that cannot be
// parsed may have one anywhere before its @.
func mask(text string) string {
	urls := strings.Split(text, ",")
	for j, s := range urls {
		u, err := url.Parse(strings.TrimSpace(s))
		switch {
		case err == nil && u.User != nil:
			urls[j] = strings.Replace(u.Redacted(), ":xxxxx@", ":***@", 1)
			if _, ok := u.User.Password(); !ok { // a token
				urls[j] = strings.Replace(u.String(), u.User.String()+"@", "***@", 1)
			}
		case err != nil && strings.Contains(s, "@"):
			urls[j] = "***" + s[strings.LastIndex(s, "@"):]
		}
	}
	return strings.Join(urls, ",")
}

// maskPath replaces all of a URL behind its host: the address of a webhook often has a secret
// there. Flags with the tag secret have such URLs.
func maskPath(text string) string {
	u, err := url.Parse(text)
	switch {
	case text == "":
		return ""
	case err != nil || u.Host == "":
		return "***"
	case u.User == nil && u.RawQuery == "" && u.Fragment == "" && strings.Trim(u.Path, "/") == "":
		return text
	}
	return u.Scheme + "://" + u.Host + "/***"
}

// UnknownVariable is a variable that begins as those of flags do and is none.
type UnknownVariable struct {
	Name  string
	Meant string // the variable of which it is a misspelling; "" if there is none
}

// Question returns ": did you mean NAME?", "" if no name is near.
func (v UnknownVariable) Question() string {
	if v.Meant == "" {
		return ""
	}
	return ": did you mean " + v.Meant + "?"
}

// UnknownVariables returns those in an environment. Kubernetes sets some of these for a
// service with the name streamer.
func (i *Invocation) UnknownVariables(environ []string) (unknown []UnknownVariable) {
	var known []string
	var walk func(n *kong.Node)
	walk = func(n *kong.Node) {
		for _, f := range n.Flags {
			if f != i.Model.HelpFlag {
				known = append(known, EnvName(n, f))
			}
		}
		for _, c := range n.Children {
			walk(c)
		}
	}
	walk(i.Model.Node)
	for _, e := range environ {
		name, _, _ := strings.Cut(e, "=")
		if strings.HasPrefix(name, "STREAMER_") && !slices.Contains(known, name) {
			unknown = append(unknown, UnknownVariable{name, nearest.Typo(name, known)})
		}
	}
	slices.SortFunc(unknown, func(a, b UnknownVariable) int { return strings.Compare(a.Name, b.Name) })
	return slices.Compact(unknown)
}
