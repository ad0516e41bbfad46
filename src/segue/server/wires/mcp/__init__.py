"""MCP wire: Segue's tools, resources and prompts for clients of the Model Context Protocol."""
