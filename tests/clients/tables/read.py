"""Checks datasets, and prints their totals by thread and event: in DuckDB, which must equal those in Polars."""
import json, sys
import duckdb, polars

TABLES = ["samples", "stacks", "frames", "objects", "processes", "mappings", "events", "recordings"]

# What a dataset must not contain, as queries that return a row for each violation.
VIOLATIONS = {
    "a sample without its stack": "select 1 from samples anti join stacks using (recording, stack)",
    "a stack twice": "select 1 from stacks group by recording, stack having count(*) > 1",
    "a stack without a frame": "select 1 from (select recording, unnest(frames) as frame from stacks) anti join frames using (recording, frame)",
    "a stack with a wrong depth": "select 1 from stacks where len(frames) <> depth or depth = 0",
    "a stack that no sample has": "select 1 from stacks anti join samples using (recording, stack)",
    "a frame twice": "select 1 from frames group by recording, frame, depth having count(*) > 1",
    "a frame without its object": "select 1 from frames anti join objects using (recording, object) where object is not null",
    "an object twice": "select 1 from objects group by recording, object having count(*) > 1",
    "a recording twice": "select 1 from recordings group by recording having count(*) > 1",
    "a table of another recording": "select 1 from samples anti join recordings using (recording)",
    "wrong sums of an event": """
        (select recording, event, sum(samples)::hugeint, sum(value)::hugeint from events where samples > 0 group by all
         except select recording, event, count(*)::hugeint, sum(value)::hugeint from samples group by all)""",
    "wrong times": """
        (select recording, min(time), max(time) from samples group by all
         except select recording, first_time, last_time from recordings)""",
    "a wrong timestamp": """
        select 1 from samples join recordings using (recording)
        where (epoch_ns(timestamp) - time) is distinct from (epoch_ns(first_timestamp) - first_time) and time is not null""",
    "a sample outside of the time of its thread": """
        select 1 from samples anti join processes p on samples.recording = p.recording and samples.pid = p.pid and samples.tid = p.tid
        where samples.tid is not null""",
}


def key(row):
    pid, tid, event = row[:3]
    return json.dumps([f"{pid}/{tid}" if tid is not None else "", event])


def read(directory):
    connection = duckdb.connect()
    for table in TABLES:
        connection.execute(f"create view {table} as select * from read_parquet('{directory}/{table}/*/*.parquet', hive_partitioning = true)")
    for what, query in VIOLATIONS.items():
        assert not connection.execute(query).fetchall(), what
    rows = connection.execute("select pid, tid, event, count(*), sum(value) from samples group by all").fetchall()
    in_duckdb = {key(row): [row[3], int(row[4])] for row in rows}
    samples = polars.scan_parquet(f"{directory}/samples/*/*.parquet", hive_partitioning=True)
    rows = samples.group_by("pid", "tid", "event").agg(polars.len(), polars.col("value").cast(polars.Int128).sum()).collect().rows()
    in_polars = {key(row): [row[3], int(row[4])] for row in rows}
    assert in_duckdb == in_polars, "DuckDB and Polars differ"
    named = connection.execute("select count(*) from frames where function is not null").fetchall()[0][0]
    recordings = connection.execute("select count(*) from recordings").fetchall()[0][0]
    return {"totals": in_duckdb, "named": named, "recordings": recordings}
