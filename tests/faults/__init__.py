"""Faults: what becomes of sessions whose writer is killed, whose disk is full, whose file is read-only or damaged."""
