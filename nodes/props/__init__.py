"""What a browser gets to see: props of a chat component, and their contract."""
