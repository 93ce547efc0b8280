"""What machines and windows compose to: polynomial functors and their combinators, the operad of windows."""
