"""What a text claims of what: records, settings, statements, and the words by which they are told apart."""
