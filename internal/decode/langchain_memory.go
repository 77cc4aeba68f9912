package decode

// LangChainMemory is what the langchain format remembers between events.
type LangChainMemory struct{}
