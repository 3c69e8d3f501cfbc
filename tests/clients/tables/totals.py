"""Prints the totals of a dataset by recording, thread and event, in DuckDB or Spark."""
import json, sys


def in_duckdb(dataset):
    import duckdb
    return duckdb.execute(f"""
        select recording, pid, tid, event, count(*), sum(value)
        from read_parquet('{dataset}/samples/*/*.parquet', hive_partitioning = true) group by all""").fetchall()


def in_spark(dataset):
    from pyspark.sql import SparkSession
    session = SparkSession.builder.getOrCreate()
    session.read.parquet(f"{dataset}/samples").createOrReplaceTempView("samples")
    query = "select recording, pid, tid, event, count(*), sum(cast(value as decimal(38, 0))) from samples group by recording, pid, tid, event"
    return session.sql(query).collect()


dataset, engine = sys.argv[1:3]
rows = {"duckdb": in_duckdb, "spark": in_spark}[engine](dataset)
# Sums of values may exceed what JSON numbers hold.
json.dump(sorted(([*row[:5], str(row[5])] for row in map(list, rows)), key=str), sys.stdout)
