"""What talks to a model, and the scripted one that answers offline."""
