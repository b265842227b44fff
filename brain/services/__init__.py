"""One module per thing a person asks for; each holds a function that takes a Workspace and returns a dataclass."""
