package decode

import (
	"streamer/internal/decode/acp"
	"streamer/internal/decode/adk"
	"streamer/internal/decode/agui"
	"streamer/internal/decode/aisdk4"
	"streamer/internal/decode/anthropic"
	"streamer/internal/decode/bedrock"
	"streamer/internal/decode/claudecode"
	"streamer/internal/decode/claudetranscript"
	"streamer/internal/decode/codex"
	"streamer/internal/decode/codexserver"
	"streamer/internal/decode/cohere"
	"streamer/internal/decode/cursoragent"
	"streamer/internal/decode/gemini"
	"streamer/internal/decode/geminicli"
	"streamer/internal/decode/geminilive"
	"streamer/internal/decode/langchain"
	"streamer/internal/decode/managedagents"
	"streamer/internal/decode/ollama"
	"streamer/internal/decode/openai"
	"streamer/internal/decode/openaiagents"
	"streamer/internal/decode/opencode"
	"streamer/internal/decode/pi"
	"streamer/internal/decode/pydanticai"
	"streamer/internal/decode/responses"
	"streamer/internal/decode/strands"
	"streamer/internal/decode/vercelui"
	"streamer/internal/decode/wire"
)

// formats lists every format, in the order in which their names are shown. A
// new format is one package, one line here, and one folder in testdata.
var formats = [...]wire.Format{
	openai.Chat(),
	responses.Format(),
	anthropic.Format(),
	langchain.Format(),
	langchain.Protocol(),
	gemini.Format(),
	gemini.Interactions(),
	geminilive.Format(),
	openai.Mistral(),
	ollama.Format(),
	cohere.Format(),
	bedrock.Format(),
	vercelui.Format(),
	aisdk4.Format(),
	geminicli.Format(),
	acp.Format(),
	agui.Format(),
	claudecode.Format(),
	claudetranscript.Format(),
	codex.Format(),
	codex.Rollout(),
	codexserver.Format(),
	cursoragent.Format(),
	opencode.Format(),
	pi.Format(),
	openaiagents.Format(),
	pydanticai.Format(),
	adk.Format(),
	strands.Format(),
	managedagents.Format(),
}

// Names returns the names of the formats, as the header Streamer-Format takes
// them.
func Names() []string {
	names := make([]string, len(formats))
	for i, f := range formats {
		names[i] = f.Name
	}
	return names
}
