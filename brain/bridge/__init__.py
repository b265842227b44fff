"""The lake over HTTP: MCP for clients that cannot start a program, and the routes of the browser extension."""
