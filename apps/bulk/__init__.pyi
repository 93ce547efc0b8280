from . import certificate, run
from .arrow import compress_table
from .certificate import certify_file
from .figures import Figures
from .iterables import compress_rows
from .pieces import Engine
from .pool import Pool
from .ray_engine import RayEngine
from .rows import RowCompressor
from .run import compress_file

__all__ = [
    "Engine",
    "Figures",
    "Pool",
    "RayEngine",
    "RowCompressor",
    "certificate",
    "certify_file",
    "compress_file",
    "compress_rows",
    "compress_table",
    "run",
]
