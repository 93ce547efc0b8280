"""Fault tests: sessions whose writer is killed, whose disk is full, or whose file is damaged."""
