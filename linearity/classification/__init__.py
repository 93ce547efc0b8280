"""What may be done to a turn, decided by rules: the default classifier, and the wordings it looks for."""
