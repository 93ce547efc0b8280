"""The machine: one declaration, the table compiled from it, the transition function, its diagram."""
