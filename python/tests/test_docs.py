"""The examples of docs/python.md."""

import re
import shutil

from conftest import FIXTURES, ROOT


def test_documented_examples_run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    shutil.copy(FIXTURES / "callgraph.data", "perf.data")
    examples = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "python.md").read_text(), re.DOTALL)
    for example in examples:
        exec(compile(example, "docs/python.md", "exec"), {})
    output = capsys.readouterr().out
    assert len(examples) >= 6
    for expected in ["loop-pie", "'SAMPLE': 377", "missing.data: cannot open", "21998"]:
        assert expected in output, output
