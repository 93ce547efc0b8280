from .arrow import compress_table
from .figures import Figures
from .iterables import compress_rows
from .pieces import Rejected
from .pool import Pool
from .rows import RowCompressor
from .run import Engine, Progress, Report, compress_file

__all__ = [
    "Engine",
    "Figures",
    "Pool",
    "Progress",
    "Rejected",
    "Report",
    "RowCompressor",
    "compress_file",
    "compress_rows",
    "compress_table",
]
