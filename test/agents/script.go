package main

// A script is what the model answers in a run, and what happens to its calls.
type script struct {
	name    string
	answers []answer // to the requests of the agent's loop; after them, the model says that it is done
	person  string   // answer of a person: allow, deny; "" if a person is not asked
	stop    bool     // the program is interrupted while the tool runs
}

// An answer is one response of the model.
type answer struct {
	texts []string
	calls []call
	end   string // stop, tool, length; cut is a connection that breaks
}

// A call is a call of the tool that the program has: for terminal agents their shell.
type call struct {
	step string // identifies the call in args and results
	act  string // what the tool does: "" returns at once, throw fails, slow takes a second, stay takes a minute
	args string // how the args are written: "" whole, cut in the middle, invalid is whole, but no JSON
}

func scripts() []script {
	a := call{step: "A"}
	one := func(c call, end string) answer { return answer{[]string{"Working."}, []call{c}, end} }
	return []script{
		{name: "plain", answers: []answer{one(a, "tool")}},
		{name: "parallel", answers: []answer{{[]string{"Working."}, []call{a, {step: "B"}}, "tool"}, one(call{step: "C"}, "tool")}},
		{name: "two-texts", answers: []answer{{[]string{"First part.", "Second part."}, []call{a}, "tool"}}},
		{name: "cut-args", answers: []answer{one(call{step: "A", args: "cut"}, "length")}},
		{name: "invalid-args", answers: []answer{one(call{step: "A", args: "invalid"}, "tool")}},
		{name: "throws", answers: []answer{one(call{step: "A", act: "throw"}, "tool")}},
		{name: "denied", answers: []answer{one(a, "tool")}, person: "deny"},
		{name: "approval", answers: []answer{one(a, "tool")}, person: "allow"},
		{name: "long", answers: []answer{one(call{step: "A", act: "slow"}, "tool")}},
		{name: "interrupted", answers: []answer{one(call{step: "A", act: "stay"}, "tool")}, stop: true},
		{name: "retried", answers: []answer{one(call{step: "A", args: "cut"}, "cut"), one(call{step: "B"}, "tool")}},
	}
}

const lastText = "All done."

func lastAnswer() answer { return answer{texts: []string{lastText}, end: "stop"} }
