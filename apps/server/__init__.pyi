from .access import LOOPBACK, Access, is_loopback
from .app import create_app, create_gateway
from .connection import STOPS_IN, configuration
from .gateway import Gateway
from .originals import Originals
from .page_files import report_page

__all__ = [
    "LOOPBACK",
    "STOPS_IN",
    "Access",
    "Gateway",
    "Originals",
    "configuration",
    "create_app",
    "create_gateway",
    "is_loopback",
    "report_page",
]
