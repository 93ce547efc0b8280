from .orders import Found, Policy, find_violation

__all__ = ["Found", "Policy", "find_violation"]
