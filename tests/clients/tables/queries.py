"""Runs the queries of a page on a dataset, in DuckDB or Spark, and prints their rows."""
import json, os, re, sys


def queries(page):
    text = open(page).read()
    return dict(re.findall(r"<!-- query: (.*?) -->\n\n```sql\n(.*?)```", text, re.DOTALL))


def in_duckdb(dataset, views):
    import duckdb
    connection = duckdb.connect()
    for statement in views["views of DuckDB"].replace("DATASET", dataset).split(";\n"):
        if statement.strip():
            connection.execute(statement)
    switches = f"{dataset}/tracepoints/sched/sched_switch"
    if os.path.exists(switches):
        connection.execute(f"create view sched_switch as select * from read_parquet('{switches}/*/*.parquet', hive_partitioning = true)")
    return lambda query: connection.execute(query).fetchall()


def in_spark(dataset, views):
    from pyspark.sql import SparkSession
    session = SparkSession.builder.getOrCreate()
    for table in ["samples", "stacks", "frames", "objects", "recordings", "tracepoints/sched/sched_switch"]:
        if os.path.exists(f"{dataset}/{table}"):
            session.sql(f"create temporary view {table.split('/')[-1]} using parquet options (path '{dataset}/{table}')")
    for statement in views["views of Spark"].split(";\n"):
        if statement.strip():
            session.sql(statement)
    return lambda query: [list(row) for row in session.sql(query).collect()]


page, dataset, engine = sys.argv[1:4]
texts = queries(page)
run = {"duckdb": in_duckdb, "spark": in_spark}[engine](dataset, texts)
rows = {}
for name, text in texts.items():
    if not name.startswith("views of") and (name != "off-CPU time" or os.path.exists(f"{dataset}/tracepoints/sched/sched_switch")):
        # Numbers of exact types are texts: not all fit in JSON.
        rows[name] = [[value if isinstance(value, float) or value is None else str(value) for value in row] for row in run(text)]
json.dump(rows, sys.stdout)
