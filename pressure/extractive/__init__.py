"""The summariser that needs no model: it reads turns, chooses among their segments by coverage, and prints what fits."""
