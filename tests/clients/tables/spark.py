"""Converts recordings on the executors of a cluster, one of which is lost, and prints what the dataset then contains."""
import json, os, signal, sys

import perfconv
import pyspark
from pyspark.sql import SparkSession


def convert(path, dataset):
    """Runs on an executor: adds a recording to the dataset."""
    perfconv.convert(path, dataset, to="parquet", append=True, symbols="no")


def executor():
    """The process of the executor that runs this task."""
    process = os.getpid()
    while process > 1 and open(f"/proc/{process}/comm").read().strip() != "java":
        process = int(open(f"/proc/{process}/stat").read().rsplit(")", 1)[1].split()[1])
    return process


def convert_or_die(path, dataset, victim):
    convert(path, dataset)
    marker = dataset + ".lost"
    if path == victim and not os.path.exists(marker):
        # The rows are written, but the task has not ended: Spark retries it elsewhere.
        open(marker, "w").close()
        os.kill(executor(), signal.SIGKILL)
    return executor()


dataset, *recordings = sys.argv[1:]
os.environ["SPARK_HOME"] = os.path.dirname(pyspark.__file__)
os.environ["PYSPARK_PYTHON"] = sys.executable
session = SparkSession.builder.getOrCreate()
session.sparkContext.setLogLevel("OFF")
victim = recordings[len(recordings) // 2]
executors = session.sparkContext.parallelize(recordings, len(recordings)).map(
    lambda path: convert_or_die(path, dataset, victim)).collect()
rows = session.read.parquet(f"{dataset}/samples").groupBy("recording", "pid", "tid", "event").agg({"*": "count", "value": "sum"}).collect()
recorded = session.read.parquet(f"{dataset}/recordings").count()
json.dump(dict(executors=len(set(executors)), lost=os.path.exists(dataset + ".lost"), recordings=recorded,
               totals=sorted([row["recording"], row["pid"], row["tid"], row["event"], row["count(1)"], row["sum(value)"]] for row in rows)), sys.stdout)
