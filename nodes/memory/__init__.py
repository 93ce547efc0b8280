"""What an agent remembers beside the conversation: the turn under way, and the turns that are closed."""
