"""Samples as Arrow tables."""

import os
import threading
import time
from contextlib import suppress
from pathlib import Path

import duckdb
import pandas
import polars
import pyarrow
import pyarrow.parquet
import pytest
from conftest import FIXTURES, RECORDINGS, ROOT, interrupt_after

import perfconv


def read(path, **options):
    return pyarrow.RecordBatchReader.from_stream(perfconv.open(path, **options).samples()).read_all()


def reads():
    """Whether a thread of the package runs."""
    names = []
    for path in Path("/proc/self/task").glob("*/comm"):
        with suppress(OSError):  # It has ended.
            names.append(path.read_text().strip())
    return "perfconv" in names


def test_a_table_equals_the_file_that_the_program_writes(tmp_path):
    compared = rows = 0
    for path in RECORDINGS:
        output = tmp_path / f"{path.name}.parquet"
        perfconv.convert(path, output, symbols="no")
        expected = pyarrow.parquet.read_table(output)
        found = read(path, symbols="no")
        assert found.equals(expected.cast(found.schema)), path.name
        compared, rows = compared + 1, rows + found.num_rows
    print(f"{rows} rows of {compared} recordings equal those of files")
    assert compared >= 20 and rows > 5000


def test_functions_are_those_of_object_files():
    directory = ROOT / "roundtrip" / "symbols"

    def frames(**options):
        table = read(directory / "words.data", **options)
        assert table.num_rows == 495
        return [frame for stack in table["frames"].to_pylist() for frame in stack]

    named = frames(symfs=directory / "files")
    assert {"find", "count_words"} < {frame["function"] for frame in named}
    assert any(frame["line"] for frame in named) and any(frame["inlined"] for frame in named)
    assert not any(frame["inlined"] for frame in frames(symfs=directory / "files", no_inline=True))
    assert all(frame["function"] is None for frame in frames(symbols="no"))


def test_a_table_can_be_read_again_and_by_duckdb():
    samples = perfconv.open(FIXTURES / "callgraph.data", symbols="no").samples()
    assert samples.warnings is None
    frames = [polars.DataFrame(samples), polars.DataFrame(samples)]
    assert frames[0].equals(frames[1]) and frames[0].height == 377
    assert samples.warnings == []
    reader = pyarrow.RecordBatchReader.from_stream(samples)
    assert duckdb.sql("select count(*), sum(value) from reader").fetchall() == [(377, frames[0]["value"].sum())]
    assert pandas.DataFrame.from_arrow(samples)["value"].sum() == frames[0]["value"].sum()
    assert pyarrow.schema(samples) == reader.schema


def test_columns_are_not_copied():
    shared = 0
    for batch in perfconv.open(FIXTURES / "callgraph.data", symbols="no").samples():
        in_arrow = [pyarrow.record_batch(batch) for _ in range(2)]
        assert in_arrow[0].num_rows == len(batch)
        for columns in zip(*(table.columns for table in in_arrow)):
            buffers = [[buffer.address for buffer in column.buffers() if buffer and buffer.size] for column in columns]
            assert buffers[0] == buffers[1]
            shared += len(buffers[0])
        in_polars = polars.DataFrame(batch)
        for name in ["value", "time", "pid", "tid", "period"]:
            address = in_polars[name].to_numpy(allow_copy=False).__array_interface__["data"][0]
            assert address == in_arrow[0][name].buffers()[1].address, name
            shared += 1
    print(f"{shared} buffers are shared")
    assert shared > 50


def test_batches_outlive_their_recording():
    batches = [pyarrow.record_batch(batch) for batch in perfconv.open(FIXTURES / "callgraph.data").samples()]
    assert sum(batch.num_rows for batch in batches) == 377
    assert all(batch.validate(full=True) is None for batch in batches)


def test_reading_ends_when_a_reader_is_dropped(large):
    batches = iter(perfconv.open(large, symbols="no").samples())
    assert len(next(batches)) > 0
    assert reads()
    del batches
    deadline = time.monotonic() + 10
    while reads():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_corrupt_parts_are_reported(tmp_path):
    path = tmp_path / "truncated.data"
    path.write_bytes((FIXTURES / "callgraph.data").read_bytes()[:5000])
    samples = perfconv.open(path, symbols="no").samples()
    assert 0 < sum(map(len, samples)) < 377
    assert any("truncated" in warning for warning in samples.warnings)


def test_other_threads_run_while_a_recording_is_read(tmp_path):
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    # Unless `open` releases the interpreter's lock, this thread cannot write what it waits for.
    writer = threading.Thread(target=lambda: fifo.write_bytes((FIXTURES / "callgraph.data").read_bytes()))
    writer.start()
    assert read(fifo, symbols="no").num_rows == 377
    writer.join()


def test_other_threads_run_while_samples_are_read(large):
    samples = perfconv.open(large, symbols="no").samples()
    counted, is_done = [0], threading.Event()

    def count():
        while not is_done.is_set():
            counted[0] += 1
            time.sleep(0.001)

    counter = threading.Thread(target=count)
    counter.start()
    started = time.monotonic()
    rows = pyarrow.RecordBatchReader.from_stream(samples).read_all().num_rows
    seconds = time.monotonic() - started
    is_done.set()
    counter.join()
    print(f"{rows / seconds:.0f} samples a second, while another thread ran {counted[0] / seconds:.0f} times a second")
    assert rows > 100_000 and counted[0] > 50 * seconds


def test_an_interrupt_ends_iteration(large):
    with interrupt_after(0.1) as elapsed, pytest.raises(KeyboardInterrupt):
        while True:
            for _ in perfconv.open(large, symbols="no").samples():
                pass
    assert elapsed() < 5


def test_an_interrupt_ends_the_opening(tmp_path):
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    with interrupt_after(0.1) as elapsed, pytest.raises(KeyboardInterrupt):
        perfconv.open(fifo)
    assert elapsed() < 5


def test_an_interrupt_ends_a_reader_of_another_package(large):
    samples = perfconv.open(large, symbols="no").samples()
    is_interrupted = False
    with interrupt_after(0.1) as elapsed:
        try:
            try:
                pyarrow.RecordBatchReader.from_stream(samples).read_all()
            except OSError as error:
                assert "interrupted" in str(error)
            time.sleep(1)
        except KeyboardInterrupt:
            is_interrupted = True
    assert is_interrupted and elapsed() < 5
    assert samples.warnings is None


def test_errors_have_a_file_and_a_kind(tmp_path):
    with pytest.raises(perfconv.Error) as missing:
        perfconv.open(tmp_path / "missing.data")
    assert (missing.value.kind, missing.value.file) == ("io", str(tmp_path / "missing.data"))
    broken = tmp_path / "broken.data"
    for contents in [b"not a recording" * 10, (FIXTURES / "callgraph.data").read_bytes()[:60]]:
        broken.write_bytes(contents)
        recording = perfconv.open(broken)
        for read_all in [lambda: list(recording.samples()), recording.info, lambda: list(recording.records())]:
            with pytest.raises(perfconv.Error, match="broken.data: ") as error:
                read_all()
            assert (error.value.kind, error.value.file) == ("input", str(broken))
    assert error.value.offset == 0
    with pytest.raises(OSError, match="broken.data"):
        pyarrow.RecordBatchReader.from_stream(perfconv.open(broken).samples()).read_all()


def test_options_are_checked():
    with pytest.raises(TypeError, match="symbol_s"):
        perfconv.open(FIXTURES / "callgraph.data", symbol_s="no")
    with pytest.raises(ValueError, match="expected one of: auto, no, force"):
        perfconv.open(FIXTURES / "callgraph.data", symbols="none")
