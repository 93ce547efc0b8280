from .access import LOOPBACK, Access, is_loopback
from .app import create_app
from .connection import STOPS_IN, configuration

__all__ = ["LOOPBACK", "STOPS_IN", "Access", "configuration", "create_app", "is_loopback"]
