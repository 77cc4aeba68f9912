package main

import "path/filepath"

func libraries() []*program {
	return []*program{
		library("ai-sdk", "ai", "ai", "ai.mjs", output{format: "vercel-ui", texts: true}, "chat"),
		library("ai-sdk responses", "ai", "ai", "ai.mjs", output{format: "vercel-ui", texts: true}, "responses"),
		library("openai-agents", "openai-agents", "@openai/agents", "agents.mjs", agentsOutput(), "responses"),
		library("openai-agents chat", "openai-agents", "@openai/agents", "agents.mjs", agentsOutput(), "chat"),
		library("langgraph modes", "langchain", "@langchain/langgraph", "langchain.mjs", langchainOutput("langchain"), "modes"),
		library("langgraph events", "langchain", "@langchain/langgraph", "langchain.mjs", langchainOutput("langchain"), "events"),
		library("langgraph v3", "langchain", "@langchain/langgraph", "langchain.mjs", langchainOutput("langgraph-protocol"), "protocol"),
		withoutPerson(library("strands", "strands", "@strands-agents/sdk", "strands.mjs", output{format: "strands", texts: true, notes: map[string]note{"interrupted": aborted}})),
		withoutPerson(library("mastra", "mastra", "@mastra/core", "mastra.mjs", mastraOutput(), "ai-sdk")),
		withoutPerson(library("mastra full", "mastra", "@mastra/core", "mastra.mjs", mastraOutput(), "full")),
		whole(withoutPerson(library("adk", "adk", "@google/adk", "adk.mjs", output{format: "adk", texts: true}))),
		withoutPerson(library("tanstack", "tanstack", "@tanstack/ai", "tanstack.mjs", output{format: "ag-ui", texts: true, notes: map[string]note{"interrupted": aborted}})),
		goLibrary("openai-go", "openai", "github.com/openai/openai-go/v3", openaiOutput("openai-chat")),
		goLibrary("openai-go responses", "responses", "github.com/openai/openai-go/v3", openaiOutput("openai-responses")),
		goLibrary("anthropic-sdk-go", "anthropic", "github.com/anthropics/anthropic-sdk-go", output{format: "anthropic", texts: true}),
		whole(goLibrary("genai", "genai", "google.golang.org/genai", output{format: "gemini", texts: true})),
		goLibrary("eino", "eino", "github.com/cloudwego/eino", output{format: "openai-chat", refused: true}), // its own schema.Message
	}
}

func agentsOutput() output {
	failed := note{status: "completed", why: "a failure is an output, whose text alone says so"}
	return output{format: "openai-agents", texts: true, notes: map[string]note{"throws": failed}}
}

func langchainOutput(format string) output {
	return output{format: format, texts: true, notes: map[string]note{
		"denied": {status: "error", why: "the result of a call that a person refused is an error"},
	}}
}

// aborted is the note of a library whose interrupted tool is one that failed.
var aborted = note{status: "error", why: "a tool that was aborted is one that failed"}

func mastraOutput() output {
	return output{format: "vercel-ui", texts: true, notes: map[string]note{
		"interrupted": {status: "args_complete", why: "it ends as if the client ran the tool"},
	}}
}

// openaiOutput is what an OpenAI library marshals, with the results as messages or items.
func openaiOutput(format string) output {
	return output{format: format, texts: true, notes: map[string]note{
		"throws": {status: "completed", why: "a result has no status"},
	}}
}

// goLibrary is a program that prints what a Go library marshals.
func goLibrary(name, kind, pkg string, o output) *program {
	return withoutPerson(&program{
		name: name, group: "go", pkg: pkg, tool: mark, outputs: []output{o},
		start: func(r *run) command { return command{args: []string{filepath.Join(r.group, "program"), kind}} },
	})
}

// withoutPerson is a program whose script has no person.
func withoutPerson(p *program) *program {
	p.without = map[string]string{"denied": noPerson, "approval": noPerson}
	return p
}

// whole is a program whose model sends calls whole.
func whole(p *program) *program {
	p.without["invalid-args"] = wholeCalls
	return p
}

const wholeCalls = "the wire has no text of args"

// library is a program that runs a script of its group.
func library(name, group, pkg, file string, o output, more ...string) *program {
	return &program{
		name: name, group: group, pkg: pkg, tool: mark, outputs: []output{o},
		start: func(r *run) command {
			return command{args: append([]string{filepath.Join(r.node, "node"), filepath.Join(r.group, file)}, more...)}
		},
	}
}
