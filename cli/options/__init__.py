"""Options and arguments of verbs, and what they ask for."""
