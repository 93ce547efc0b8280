from .arrow import compress_table
from .certificate import BudgetLoss, Certificate, Loss, certify, certify_file, measure
from .figures import Figures
from .iterables import compress_rows
from .pieces import Engine, Rejected
from .pool import Pool
from .ray_engine import RayEngine
from .rows import RowCompressor
from .run import Progress, Report, compress_file

__all__ = [
    "BudgetLoss",
    "Certificate",
    "Engine",
    "Figures",
    "Loss",
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
