package patch

// Profiles are the words of Options.Profile.
func Profiles() []string {
	return []string{"deepagents", "deepagents-js", "eino", "eino-0.8", "sagents"}
}
