"""The exception of the package."""

from __future__ import annotations

from typing import Optional


class Error(Exception):
    """A recording cannot be read, converted or rewritten.

    ``kind`` is one of ``io``, ``input``, ``output``, ``output_exists``, ``not_found``, ``incompatible``, ``invalid_request``,
    ``too_large``, ``incomplete``. ``file`` and ``offset`` locate the problem. Each is None if unknown.
    """

    def __init__(
        self, message: str, kind: Optional[str] = None, file: Optional[str] = None, offset: Optional[int] = None
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.file = file
        self.offset = offset


Error.__module__ = "perfconv"
