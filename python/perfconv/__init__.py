"""Reads, converts and rewrites Linux perf.data recordings.

``open(path)`` returns a ``Recording``, whose samples are an Arrow table for pandas, Polars, DuckDB and PyArrow. ``convert`` and
``rewrite`` run the program, which the package also installs.
"""

from ._error import Error
from ._perfconv import Batch, Batches, Recording, Records, Samples, open
from ._program import convert, program, rewrite

__all__ = [
    "Batch", "Batches", "Error", "Recording", "Records", "Samples", "convert", "open", "program", "rewrite"
]
