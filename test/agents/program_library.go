package main

import "path/filepath"

func libraries() []*program {
	return []*program{
		library("ai-sdk", "ai", "ai", "ai.mjs", output{format: "vercel-ui", texts: true}, "chat"),
		library("ai-sdk responses", "ai", "ai", "ai.mjs", output{format: "vercel-ui", texts: true}, "responses"),
		library("openai-agents", "openai-agents", "@openai/agents", "agents.mjs", output{format: "openai-agents", texts: true}, "responses"),
		library("openai-agents chat", "openai-agents", "@openai/agents", "agents.mjs", output{format: "openai-agents", texts: true}, "chat"),
		library("langgraph modes", "langchain", "@langchain/langgraph", "langchain.mjs", output{format: "langchain", texts: true}, "modes"),
		library("langgraph events", "langchain", "@langchain/langgraph", "langchain.mjs", output{format: "langchain", texts: true}, "events"),
		library("langgraph v3", "langchain", "@langchain/langgraph", "langchain.mjs", output{format: "langgraph-protocol", texts: true}, "protocol"),
		library("strands", "strands", "@strands-agents/sdk", "strands.mjs", output{format: "strands", texts: true}),
		library("mastra", "mastra", "@mastra/core", "mastra.mjs", output{format: "vercel-ui", texts: true}, "ai-sdk"),
		library("mastra full", "mastra", "@mastra/core", "mastra.mjs", output{format: "vercel-ui", texts: true}, "full"),
		library("adk", "adk", "@google/adk", "adk.mjs", output{format: "adk", texts: true}),
		library("tanstack", "tanstack", "@tanstack/ai", "tanstack.mjs", output{format: "ag-ui", texts: true}),
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
