"""Compares tables of perfconv with the text of `perf script` in DuckDB, and prints the rows of docs/tables.md:

    python3 benches/tables.py PERFCONV RECORDING

Needs the Python package duckdb and perf. Both look up functions on this machine, without inlined functions. The queries must
return the same number of samples.
"""

import pathlib
import subprocess
import sys
import tempfile
import time

# Tables of samples and frames from text: a sample begins at a line that is not indented.
IMPORT = r"""
create temporary view marked as
    select line, line <> '' and line[1] <> chr(9) as is_head
    from read_csv('TEXT', columns = {'line': 'VARCHAR'}, auto_detect = false, header = false, delim = chr(31), quote = '',
                  escape = '');
create temporary table numbered as
    select sum(is_head::int) over (rows unbounded preceding) as sample, row_number() over () as line_number, is_head, line from marked;
create table samples as
    select sample, parts.comm, parts.pid::int as pid, parts.tid::int as tid, parts.time::double as time,
           parts.period::bigint as period, parts.event
    from (select sample, regexp_extract(line, '^(.*?) +(\d+)/(\d+) +([\d.]+): +(\d+) +(.*): *$',
                                        ['comm', 'pid', 'tid', 'time', 'period', 'event']) as parts
          from numbered where is_head);
create table frames as
    select sample, row_number() over (partition by sample order by line_number) as depth, parts.ip, parts.function, parts.object
    from (select sample, line_number, regexp_extract(line, '^\t *([0-9a-f]+) (.*?)(?:\+0x[0-9a-f]+)? \((.*)\)$',
                                                     ['ip', 'function', 'object']) as parts
          from numbered where not is_head and line <> '');
"""

QUERIES = {
    "samples by process": {
        "text": "select pid, count(*) from samples group by pid",
        "dataset": "select pid, count(*) from read_parquet('DATASET/samples/*/*.parquet') group by pid",
        "table": "select pid, count(*) from read_parquet('TABLE') group by pid",
    },
    "innermost functions": {
        "text": "select function, count(*) from samples left join frames on frames.sample = samples.sample and depth = 1"
        " group by function",
        "dataset": "select function, count(*) from read_parquet('DATASET/samples/*/*.parquet') samples"
        " left join read_parquet('DATASET/stacks/*/*.parquet') stacks using (stack)"
        " left join read_parquet('DATASET/frames/*/*.parquet') frames on frames.frame = stacks.frames[1] and frames.depth = 0"
        " group by function",
        "table": "select frames[1].function, count(*) from read_parquet('TABLE') group by all",
    },
}


def cost(command):
    """CPU seconds and peak anonymous MiB of a command."""
    script = pathlib.Path(__file__).with_name("cost.py")
    printed = subprocess.run([sys.executable, script, "600", command], capture_output=True, text=True, check=True).stdout
    _, cpu, _, anonymous = printed.split()
    return float(cpu), int(anonymous)


def megabytes(path):
    files = [path] if path.is_file() else path.rglob("*.parquet")
    return sum(file.stat().st_size for file in files) / 1e6


def import_text(text, database):
    import duckdb

    connection = duckdb.connect(database)
    connection.execute(IMPORT.replace("TEXT", text))


def query(kind, paths):
    """The samples that each query counts, and its seconds."""
    import duckdb

    connection = duckdb.connect(str(paths["text"])) if kind == "text" else duckdb.connect()
    for name, texts in QUERIES.items():
        statement = texts[kind].replace("DATASET", str(paths["dataset"])).replace("TABLE", str(paths["table"]))
        connection.execute(statement).fetchall()
        start = time.monotonic()
        rows = connection.execute(statement).fetchall()
        yield name, sum(row[-1] for row in rows), time.monotonic() - start


def main():
    perfconv, recording = sys.argv[1:3]
    with tempfile.TemporaryDirectory() as work:
        work = pathlib.Path(work)
        text = work / "script.txt"
        paths = {"text": work / "script.duckdb", "dataset": work / "dataset", "table": work / "table.parquet"}
        print("| output | time | memory | size |\n|---|---|---|---|")
        jobs = [
            ("text of `perf script`", text,
             f"perf script --no-inline -F comm,pid,tid,time,period,event,ip,sym,symoff,dso -i {recording} > {text}"),
            ("its import into DuckDB", paths["text"],
             f"{sys.executable} {__file__} import {text} {paths['text']}"),
            ("dataset", paths["dataset"], f"{perfconv} {recording} --no-inline -q -t parquet -o {paths['dataset']}"),
            ("single Parquet table", paths["table"], f"{perfconv} {recording} --no-inline -q -o {paths['table']}"),
        ]
        for name, output, command in jobs:
            cpu, anonymous = cost(command)
            print(f"| {name} | {cpu:.1f} s | {anonymous} MiB | {megabytes(output):.1f} MB |", flush=True)
        found = {kind: list(query(kind, paths)) for kind in paths}
        print("\n| query | " + " | ".join(found) + " |\n|---|---|---|---|")
        for row in zip(*found.values()):
            name, samples = row[0][:2]
            if any(other[1] != samples for other in row):
                sys.exit(f"{name}: {row} count different samples")
            print(f"| {name}, {samples} samples | " + " | ".join(f"{seconds:.2f} s" for *_, seconds in row) + " |")


if sys.argv[1] == "import":
    import_text(*sys.argv[2:4])
else:
    main()
