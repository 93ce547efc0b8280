"""Real clients of three hosts on loopback, compacted by polycontext: `just hosts`."""
