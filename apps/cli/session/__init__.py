"""`polycontext session`: commands on conversations kept in a store."""

from ..command import Group

__all__ = ["session"]

session = Group(
    "session",
    "Manage conversations in a store.\n\nIf POLYCONTEXT_SESSION is set, commands shown with "
    "[SESSION] use it.",
    {
        "new": ("session.lifetime", "Create a session."),
        "append": ("session.messages", "Add messages, or a text, to a session."),
        "messages": ("session.messages", "Print the request to send to the model."),
        "show": ("session.view", "Show the window's contents and the state of each message."),
        "compress": ("session.history", "Summarise or drop older messages now."),
        "recall": ("session.history", "Bring messages back verbatim."),
        "rules": ("session.rules", "List the user's rules, add one, or end one."),
        "search": ("session.view", "Search all messages."),
        "explain": ("session.view", "Explain the state of one message."),
        "rewind": ("session.history", "Go back to an earlier state."),
        "undo": ("session.receipts", "Take a compression back."),
        "diff": ("session.receipts", "Show what a compression changed."),
        "fork": ("session.history", "Copy a session under a new name."),
        "export": ("session.exchange", "Print a session as lines of JSON."),
        "import": ("session.exchange", "Import an exported session."),
        "list": ("session.view", "List the sessions of a store."),
        "forget": ("session.lifetime", "Permanently erase messages, by id, age or size."),
        "delete": ("session.lifetime", "Permanently delete a session."),
    },
)
