"""The MCP door: the tools of one run for each session, over standard input and output or streamable HTTP."""
