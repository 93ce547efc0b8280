"""One conversation, driven through the machine by whoever uses it."""
