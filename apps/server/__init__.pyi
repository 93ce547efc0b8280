from .access import Access, hosts_of
from .app import create_app, create_gateway
from .connection import Server
from .gateway import Gateway
from .originals import Originals
from .page_files import report_page

__all__ = [
    "Access",
    "Gateway",
    "Originals",
    "Server",
    "create_app",
    "create_gateway",
    "hosts_of",
    "report_page",
]
