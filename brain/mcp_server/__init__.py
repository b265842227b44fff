"""The lake for AI clients, over the Model Context Protocol."""
