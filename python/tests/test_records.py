"""Records and information, compared with the output of the program."""

import json

import pytest
from conftest import FIXTURES, RECORDINGS, ROOT, interrupt_after, run

import perfconv

PROFILES = sorted((ROOT / "tests" / "profiles").iterdir())


def test_records_are_those_of_json_lines():
    compared = records = 0
    for path in RECORDINGS:
        lines = map(json.loads, run(path, "-t", "jsonl", "-q", "-o", "-").splitlines())
        expected = [line for line in lines if "record" in line]
        assert list(perfconv.open(path).records()) == expected, path.name
        compared, records = compared + 1, records + len(expected)
    print(f"{records} records of {compared} recordings equal those of the program")
    assert compared >= 20 and records > 5000


def test_information_is_that_of_the_program():
    compared = 0
    for path in RECORDINGS + PROFILES:
        assert perfconv.open(path).info() == json.loads(run("info", path, "--json")), path.name
        compared += 1
    print(f"information on {compared} recordings equals that of the program")
    assert compared >= 20


def test_an_interrupt_ends_iteration(large):
    with interrupt_after(0.2) as elapsed, pytest.raises(KeyboardInterrupt):
        while True:
            for _ in perfconv.open(large).records():
                pass
    assert elapsed() < 5


def test_a_recording_shows_its_path():
    path = FIXTURES / "callgraph.data"
    assert repr(perfconv.open(path)) == f"<perfconv.Recording '{path}'>"
