"""Conversions, which the program does: all of its options apply."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sysconfig
from pathlib import Path
from typing import Any, Dict, List, Optional, Sequence, Tuple, Union

from ._error import Error

_Path = Union[str, "os.PathLike[str]"]
_Option = Union[bool, int, float, str, "os.PathLike[str]", Sequence[Union[int, str, "os.PathLike[str]"]], None]

# Options that the functions themselves set.
_RESERVED = {"help", "input", "out_dir", "output", "progress", "quiet", "report", "to", "verbose", "version"}

# Kinds of errors by exit status.
_KINDS = {2: "invalid_request", 3: "incomplete"}

# Seconds after which signals are checked.
_INTERVAL = 0.2


def program() -> str:
    """The path of the program: that of the package, if a wheel of a release has installed it, otherwise the one on the search path."""
    beside = Path(__file__).resolve().parent.parent / "bin"  # of pip install --target
    user = sysconfig.get_path("scripts", f"{os.name}_user")
    for directory in [str(beside), sysconfig.get_path("scripts"), user]:
        path = os.path.join(directory, "perfconv")
        if os.access(path, os.X_OK):
            return path
    on_path = shutil.which("perfconv")
    if on_path:
        return on_path
    message = "the program perfconv is neither in this package nor on PATH; install it with cargo, or the package from a wheel"
    raise Error(message, "io")


def convert(
    inputs: Union[_Path, Sequence[_Path]], output: _Path, to: Optional[str] = None, **options: _Option
) -> List[Dict[str, Any]]:
    """Converts a recording or, to a dataset of tables, several; returns a report for each.

    ``to`` is the format, by default that of the name of the output. Options are those of ``perfconv convert``, with underscores:
    ``comm="nginx"``, ``anonymize=True``, ``symfs="files"``. A sequence repeats an option. Raises ``Error`` if the conversion fails.
    """
    paths = [inputs] if isinstance(inputs, (str, os.PathLike)) else list(inputs)
    return _run("convert", paths, output, {**_checked(options), "to": to})


def rewrite(input: _Path, output: _Path, **options: _Option) -> Dict[str, Any]:
    """Writes a recording as perf.data, filtered or changed; returns a report.

    Options are those of ``perfconv rewrite``, with underscores. Raises ``Error`` if the recording cannot be rewritten.
    """
    return _run("rewrite", [input], output, _checked(options))[0]


def _checked(options: Dict[str, _Option]) -> Dict[str, _Option]:
    names = {name.rstrip("_"): value for name, value in options.items()}
    reserved = sorted(_RESERVED.intersection(names))
    if reserved:
        raise TypeError(f"option {reserved[0]} is set by this function")
    return names


def _arguments(options: Dict[str, _Option]) -> List[str]:
    arguments: List[str] = []
    for name, value in options.items():
        option = "--" + name.replace("_", "-")
        values = [value] if value is None or isinstance(value, (bool, int, float, str, os.PathLike)) else list(value)
        for each in values:
            if each is True:
                arguments.append(option)
            elif each is not None and each is not False:
                text = os.fspath(each) if isinstance(each, os.PathLike) else str(each)
                arguments.append(f"{option}={text}")
    return arguments


def _run(command: str, inputs: Sequence[_Path], output: _Path, options: Dict[str, _Option]) -> List[Dict[str, Any]]:
    if not inputs:
        raise TypeError("no input is named")
    arguments = [program(), command, f"--output={os.fspath(output)}", "--report=json", "--progress=never"]
    arguments += [*_arguments(options), "--", *(os.fspath(path) for path in inputs)]
    status, messages = _wait(arguments)
    lines = messages.splitlines()
    reports = [line for line in lines if line.startswith("{")]
    if status:
        failures = [line.removeprefix("perfconv: ") for line in lines if line not in reports]
        message = "\n".join(failures).strip() or f"perfconv: exit status {status}"
        raise Error(message, _KINDS.get(status))
    return [json.loads(report) for report in reports]


def _wait(arguments: Sequence[str]) -> Tuple[int, str]:
    process = subprocess.Popen(
        arguments, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, encoding="utf-8", errors="replace"
    )
    messages = None
    try:
        while messages is None:
            try:
                # Limited, because handlers that other packages install make a signal resume an unlimited wait.
                _, messages = process.communicate(timeout=_INTERVAL)
            except subprocess.TimeoutExpired:
                pass
    except BaseException:
        # The program removes incomplete outputs before it ends.
        process.terminate()
        process.wait()
        raise
    return process.returncode, messages
