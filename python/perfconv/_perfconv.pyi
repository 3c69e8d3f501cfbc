import os
from typing import Any, Iterator, List, Optional, Tuple, Union, final

__all__ = ["Batch", "Batches", "Recording", "Records", "Samples", "open"]

_Path = Union[str, os.PathLike[str]]

def open(
    path: _Path,
    *,
    symbols: str = "auto",
    symfs: Optional[_Path] = None,
    buildid_dir: Optional[_Path] = None,
    debug_dir: Optional[_Path] = None,
    vmlinux: Optional[_Path] = None,
    kallsyms: Optional[_Path] = None,
    no_inline: bool = False,
    no_unwind: bool = False,
    max_stack: Optional[int] = None,
    spool_dir: Optional[_Path] = None,
) -> Recording: ...

@final
class Recording:
    def samples(self) -> Samples: ...
    def records(self) -> Records: ...
    def info(self) -> dict[str, Any]: ...

@final
class Samples:
    @property
    def warnings(self) -> Optional[List[str]]: ...
    def __iter__(self) -> Batches: ...
    def __arrow_c_stream__(self, requested_schema: Optional[object] = None) -> object: ...
    def __arrow_c_schema__(self) -> object: ...

@final
class Batches:
    def __iter__(self) -> Batches: ...
    def __next__(self) -> Batch: ...

@final
class Batch:
    def __len__(self) -> int: ...
    def __arrow_c_array__(self, requested_schema: Optional[object] = None) -> Tuple[object, object]: ...
    def __arrow_c_schema__(self) -> object: ...

@final
class Records(Iterator[dict[str, Any]]):
    def __iter__(self) -> Records: ...
    def __next__(self) -> dict[str, Any]: ...
