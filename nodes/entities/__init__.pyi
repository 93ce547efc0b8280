from . import names, records, registry

__all__ = [
    "names",
    "records",
    "registry",
]
