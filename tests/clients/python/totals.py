"""Prints the totals of recordings by thread and event: in pandas, which must equal those in Polars and DuckDB."""
import json, sys
import duckdb, pandas, perfconv, polars, pyarrow

KEY = ["pid", "tid", "event"]


def key(pid, tid, event):
    return json.dumps([f"{pid}/{tid}" if tid is not None else "", event])


def read(path):
    samples = perfconv.open(path, symbols="no").samples()
    reader = pyarrow.RecordBatchReader.from_stream(samples)
    rows = duckdb.sql("select pid, tid, event, count(*), sum(value) from reader group by all").fetchall()
    in_duckdb = {key(*row[:3]): [row[3], int(row[4])] for row in rows}
    groups = polars.DataFrame(samples).group_by(KEY)
    rows = groups.agg(polars.len(), polars.col("value").cast(polars.Int128).sum()).rows()
    in_polars = {key(*row[:3]): list(row[3:]) for row in rows}
    # Of pandas' types, only objects sum beyond 64 bits.
    columns = pandas.DataFrame.from_arrow(samples)[KEY + ["value"]].astype({"value": object, "pid": "Int64", "tid": "Int64"})
    in_pandas = {}
    for (pid, tid, event), values in columns.groupby(KEY, dropna=False)["value"]:
        numbers = [None if pandas.isna(number) else int(number) for number in (pid, tid)]
        in_pandas[key(*numbers, event)] = [len(values), sum(map(int, values))]
    assert in_duckdb == in_polars, "DuckDB and Polars differ"
    assert in_pandas == in_polars, "pandas and Polars differ"
    return {"totals": in_pandas}
