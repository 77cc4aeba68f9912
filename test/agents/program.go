package main

import (
	"encoding/json"
	"path/filepath"
)

// A program is a real agent, or a library with a script in the directory programs that
// runs it and prints its events as lines of JSON.
type program struct {
	name    string
	group   string // its directory in programs
	pkg     string // the package whose version is reported
	tool    func(r *run) tool
	start   func(r *run) command
	talk    func(r *run, line []byte) (replies []any, done bool) // answers a line of its output; first of all the line nil
	stop    func(r *run) any                                     // the message that interrupts it; without it, SIGINT does
	both    bool                                                 // the output is the messages of both sides
	outputs []output

	without map[string]string // scripts that the program has nothing for, with the reason
}

// An output is a stream of a program in a format, and what it has of its own.
type output struct {
	format    string
	files     string          // pattern below the home directory; "" is the standard output
	notes     map[string]note // by script
	texts     bool            // it has the texts of the model
	ownIDs    bool            // the calls have other ids than those of the model
	ownArgs   bool            // name and args are those of the program, and have the command of the shell
	bare      bool            // the calls have neither args nor results
	unordered bool            // parallel calls come as they start or end
	unasked   bool            // it does not state that a person was asked
	refused   bool            // it is of no format that is read, and is rejected
}

// A note is what a program does in a script that the model and the tool do not show.
type note struct {
	status   string // of the calls
	silent   bool   // the calls may be absent
	repaired bool   // args that the model did not end are whole
	why      string
}

func programs() []*program {
	return append(terminal(), libraries()...)
}

// shell returns the shell tool of a terminal agent.
func shell(name, member string, more ...string) func(*run) tool {
	return func(r *run) tool {
		return tool{name, func(c call) object {
			args := object{member: "sh " + filepath.Join(r.work, "mark") + " " + c.step + " " + c.act}
			for _, m := range more {
				args[m] = "step"
			}
			return args
		}}
	}
}

// mark is the tool of the libraries.
func mark(*run) tool {
	return tool{"mark", func(c call) object { return object{"step": c.step, "act": c.act} }}
}

func modules(r *run, name string) string { return filepath.Join(r.group, "node_modules", name) }

func text(v any) string { return string(encode(v)) }

// decodeLine reads a line of JSON into v, and reports whether it is one.
func decodeLine(line []byte, v any) bool { return len(line) > 0 && json.Unmarshal(line, v) == nil }
