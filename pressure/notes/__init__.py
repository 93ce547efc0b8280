"""Notes: summaries that are chosen without a model, in whole units."""
