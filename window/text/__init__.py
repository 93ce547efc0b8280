"""How a text is built: its segments, its terms, its structure; and how much it speaks of a question."""
