package patch

// provider is what a provider asks for besides the rules of its shape.
type provider struct {
	name                 string
	order, args, invalid string // the defaults of the options of these names, "" for theirs
	merge                bool   // of Options.MergeRoles
	id                   func(id string) string
	unique               bool // ids are unique in the history
	adjacent             bool // Responses: outputs directly behind their calls
}

// providers is the list of them; the first is one nothing is known of. Where
// their rules were found is in docs/repair.md.
func providers() []provider {
	return []provider{
		{name: "generic"},
		{name: "openai", args: "keep", id: atMost(64)},
		{name: "openai-chat40", args: "keep", id: atMost(40)},
		{name: "anthropic", invalid: "convert", id: plain64, unique: true},
		{name: "bedrock", invalid: "convert", id: plain64, unique: true, merge: true},
		{name: "gemini", invalid: "convert", id: plain64, order: "call"},
		{name: "mistral", id: mistralID, order: "call"},
		{name: "deepseek", adjacent: true},
	}
}

// Providers are the words of Options.Provider.
func Providers() []string {
	var names []string
	for _, p := range providers() {
		names = append(names, p.name)
	}
	return names
}

func providerOf(name string) provider {
	for _, p := range providers() {
		if p.name == name {
			return p
		}
	}
	return providers()[0]
}
