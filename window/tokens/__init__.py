"""What things cost: the counter protocol, counters, and the framing that providers add around text."""
