package patch

// provider has the rules of a provider that go beyond those of the shape.
type provider struct {
	name                 string
	order, args, invalid string // provider's defaults for the options of these names, "" for the general ones
	merge                bool   // default of Options.MergeRoles
	id                   func(id string) string
	unique               bool // ids must be unique in the whole history
	adjacent             bool // Responses: outputs must be next to their calls
}

// providers lists the providers. The first has no rules of its own. docs/repair.md
// names the sources of the rules.
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

// Providers returns the valid values of Options.Provider.
func Providers() []string {
	var names []string
	for _, p := range providers() {
		names = append(names, p.name)
	}
	return names
}

// providerOf returns the provider of that name, or the first one.
func providerOf(name string) provider {
	for _, p := range providers() {
		if p.name == name {
			return p
		}
	}
	return providers()[0]
}
