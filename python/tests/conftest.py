"""Recordings for the tests."""

import signal
import subprocess
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

import perfconv

ROOT = Path(__file__).resolve().parents[2]
FIXTURES = ROOT / "roundtrip" / "fixtures"
RECORDINGS = sorted(path for path in FIXTURES.iterdir() if path.name != "README.md")


# A parent may ignore the signal, as shells do for commands in the background.
signal.signal(signal.SIGINT, signal.default_int_handler)


def run(*args):
    """Runs the installed program; returns its output."""
    command = [perfconv.program(), *map(str, args)]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8").stdout


@pytest.fixture(scope="session")
def large(tmp_path_factory):
    """A recording of many samples."""
    path = tmp_path_factory.mktemp("large") / "large.data"
    run("synth", ROOT / "scenarios" / "callgraph.toml", "--scale", "100", "-o", path)
    return path


@contextmanager
def interrupt_after(seconds):
    """Sends SIGINT to the main thread of this process, as Ctrl-C does; the value is a clock."""
    timer = threading.Timer(seconds, signal.pthread_kill, (threading.main_thread().ident, signal.SIGINT))
    timer.start()
    started = time.monotonic()
    try:
        yield lambda: time.monotonic() - started
    finally:
        timer.cancel()
        timer.join()
