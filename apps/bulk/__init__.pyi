from .arrow import compress_table
from .certificate import Certificate, certify, certify_file, measure
from .figures import Figures
from .iterables import compress_rows
from .pieces import Engine, Rejected
from .pool import Pool
from .ray_engine import RayEngine
from .rows import RowCompressor
from .run import Progress, Report, compress_file

__all__ = [
    "Certificate",
    "Engine",
    "Figures",
    "Pool",
    "Progress",
    "RayEngine",
    "Rejected",
    "Report",
    "RowCompressor",
    "certify",
    "certify_file",
    "compress_file",
    "compress_rows",
    "compress_table",
    "measure",
]
