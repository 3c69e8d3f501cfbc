"""The stubs, by mypy."""

import subprocess
import sys
from pathlib import Path

import perfconv

USE = """
import perfconv

recording = perfconv.open("perf.data", symbols="no", max_stack=64)
for batch in recording.samples():
    rows: int = len(batch)
kinds: set[str] = {record["record"] for record in recording.records()}
report: dict[str, object] = perfconv.rewrite("perf.data", "out.data", comm=["a", "b"], compress=3)
try:
    perfconv.convert(["perf.data"], "out", to="parquet", append=True)
except perfconv.Error as error:
    offset: int | None = error.offset
perfconv.open("perf.data", symbols=1)  # type: ignore[arg-type]
"""


def check(*args):
    run = subprocess.run([sys.executable, "-m", *args], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8")
    assert run.returncode == 0, run.stdout


def test_stubs_are_those_of_the_module():
    check("mypy.stubtest", "perfconv", "--ignore-disjoint-bases")


def test_the_package_and_its_use_have_types(tmp_path):
    use = tmp_path / "use.py"
    use.write_text(USE)
    check("mypy", "--strict", "--no-incremental", str(use), str(Path(perfconv.__file__).parent))
