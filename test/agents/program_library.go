package main

import "path/filepath"

func libraries() []*program {
	return []*program{
		library("ai-sdk", "ai", "ai", "ai.mjs", output{format: "vercel-ui", texts: true}, "chat"),
	}
}

// library is a program that runs a script of its group.
func library(name, group, pkg, file string, o output, more ...string) *program {
	return &program{
		name: name, group: group, pkg: pkg, tool: mark, outputs: []output{o},
		start: func(r *run) command {
			return command{args: append([]string{filepath.Join(r.node, "node"), filepath.Join(r.group, file)}, more...)}
		},
	}
}
