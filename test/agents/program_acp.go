package main

import (
	"slices"
	"strings"
)

// cancelledCommand is the note of agents for a command that session/cancel stopped.
var cancelledCommand = note{status: "completed", why: "a command that was cancelled is completed, with a text that says so"}

// acp makes of a terminal agent one that speaks the Agent Client Protocol.
func acp(p *program, o output, args ...string) *program {
	start := p.start
	p.name += " acp"
	o.format, o.texts = "acp", true
	p.outputs = []output{o}
	p.start = func(r *run) command {
		c := start(r)
		c.args = slices.Concat(c.args[:slices.IndexFunc(c.args, isAgent)+1], args)
		return c
	}
	p.talk, p.both = acpTalk, true
	p.stop = func(r *run) any {
		return object{"jsonrpc": "2.0", "method": "session/cancel", "params": object{"sessionId": r.thread}}
	}
	p.without = map[string]string{}
	return p
}

// isAgent reports whether an argument is the program itself.
func isAgent(arg string) bool {
	return strings.Contains(arg, "node_modules") && !strings.HasSuffix(arg, "/bin/node")
}

// acpTalk starts a session and a prompt, and answers what the agent asks.
func acpTalk(r *run, line []byte) ([]any, bool) {
	request := func(id int, method string, params object) []any {
		return []any{object{"jsonrpc": "2.0", "id": id, "method": method, "params": params}}
	}
	var m struct {
		ID     any
		Method string
		Result struct{ SessionID, StopReason string }
		Error  any
		Params struct {
			Options []struct{ OptionID, Kind string }
		}
	}
	switch {
	case line == nil:
		return request(1, "initialize", object{"protocolVersion": 1, "clientCapabilities": object{}}), false
	case !decodeLine(line, &m):
	case m.Method == "session/request_permission":
		outcome := object{"outcome": "cancelled"}
		want := map[string]string{"allow": "allow_once", "deny": "reject_once", "": "allow_once"}[r.script.person]
		for _, o := range m.Params.Options {
			if o.Kind == want {
				outcome = object{"outcome": "selected", "optionId": o.OptionID}
			}
		}
		return []any{object{"jsonrpc": "2.0", "id": m.ID, "result": object{"outcome": outcome}}}, false
	case m.Method != "":
	case m.ID == 1.0:
		return request(2, "session/new", object{"cwd": r.work, "mcpServers": []object{}}), false
	case m.ID == 2.0 && m.Error == nil:
		r.thread = m.Result.SessionID
		return request(3, "session/prompt", object{"sessionId": r.thread, "prompt": []object{{"type": "text", "text": prompt}}}), false
	default:
		return nil, true // the prompt has ended, or a request has failed
	}
	return nil, false
}
