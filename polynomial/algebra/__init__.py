"""The machine as a polynomial functor, and the operad of machines and workers."""
