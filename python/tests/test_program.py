"""Conversions by the installed program."""

import os
from pathlib import Path

import pyarrow.parquet
import pytest
from conftest import FIXTURES, interrupt_after, run

import perfconv

CALLGRAPH = FIXTURES / "callgraph.data"


def test_the_package_installs_the_program():
    assert run("--version").startswith("perfconv ")
    assert Path(perfconv.program()).parent.name == "bin"


def test_the_program_on_the_search_path_is_used_without_one_of_the_package(monkeypatch, tmp_path):
    installed = perfconv.program()
    monkeypatch.setattr("perfconv._program.sysconfig.get_path", lambda *_: str(tmp_path))
    monkeypatch.setattr("perfconv._program.__file__", str(tmp_path / "perfconv" / "_program.py"))
    monkeypatch.setenv("PATH", str(Path(installed).parent))
    assert perfconv.program() == installed
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(perfconv.Error, match="neither in this package nor on PATH"):
        perfconv.program()


def test_conversions_return_reports(tmp_path):
    [report] = perfconv.convert(CALLGRAPH, tmp_path / "out.pb.gz", symbols="no", labels="pid,comm")
    assert report["samples"] == {"in": 377, "out": 377, "dropped": 0}
    assert (tmp_path / "out.pb.gz").read_bytes()[:2] == b"\x1f\x8b"
    inputs = [str(CALLGRAPH), FIXTURES / "tracepoints.data"]
    reports = perfconv.convert(inputs, tmp_path / "profiles", to="parquet", symbols="no", jobs=2)
    assert sorted(report["samples"]["out"] for report in reports) == [23, 377]
    assert pyarrow.parquet.read_table(tmp_path / "profiles" / "samples").num_rows == 400
    perfconv.convert(inputs, tmp_path / "profiles", to="parquet", symbols="no", append=True)
    assert pyarrow.parquet.read_table(tmp_path / "profiles" / "samples").num_rows == 400


def test_recordings_are_rewritten(tmp_path):
    output = tmp_path / "out.data"
    report = perfconv.rewrite(CALLGRAPH, output, comm="loop-pie", head=20, compress=3)
    assert report["samples"]["out"] == 20
    assert sum(map(len, perfconv.open(output, symbols="no").samples())) == 20
    perfconv.rewrite(FIXTURES / "forks.data", output, anonymize=True, force=True, symfs=None, quick=False)
    assert "forky" not in str(list(perfconv.open(output).records()))


def test_errors_have_the_message_of_the_program(tmp_path):
    output = tmp_path / "out.pb.gz"
    with pytest.raises(perfconv.Error, match="cannot open") as error:
        perfconv.convert(tmp_path / "missing.data", output)
    assert error.value.kind is None
    with pytest.raises(perfconv.Error, match="did you mean '--symbols'") as error:
        perfconv.convert(CALLGRAPH, output, symbol_s="no")
    assert error.value.kind == "invalid_request"
    with pytest.raises(perfconv.Error, match="no samples of thread name 'nginx'"):
        perfconv.rewrite(CALLGRAPH, tmp_path / "out.data", comm="nginx")
    for call in [lambda: perfconv.convert([], output), lambda: perfconv.convert(CALLGRAPH, output, quiet=True)]:
        with pytest.raises(TypeError):
            call()
    assert list(tmp_path.iterdir()) == []


def test_names_are_not_options(tmp_path):
    os.chdir(tmp_path)
    Path("--help").write_bytes(CALLGRAPH.read_bytes())
    perfconv.rewrite("--help", "--version")
    assert Path("--version").read_bytes() == CALLGRAPH.read_bytes()


def test_an_interrupt_ends_the_program(tmp_path):
    fifo, output = tmp_path / "fifo", tmp_path / "out.pb.gz"
    os.mkfifo(fifo)
    with interrupt_after(0.3) as elapsed, pytest.raises(KeyboardInterrupt):
        perfconv.convert(fifo, output)
    assert elapsed() < 10
    assert Path(f"/proc/self/task/{os.getpid()}/children").read_text() == ""
    assert list(tmp_path.iterdir()) == [fifo]
