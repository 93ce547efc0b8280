"""`polycontext chat`: a conversation in the terminal, with pills, streamed answers and slash commands (docs/terminal.md)."""
