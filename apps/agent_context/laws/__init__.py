"""The laws of the context that agents share."""
