"""Design-space exploration: what each choice costs and what it loses."""
