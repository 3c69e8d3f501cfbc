"""Runs the statement of a page that compacts a table, for each table, and prints the numbers of rows and of rows that differ."""
import json, os, re, sys
import duckdb

page, dataset, compact = sys.argv[1:4]
[statement] = re.findall(r"<!-- compaction -->\n\n```sql\n(.*?)```", open(page).read(), re.DOTALL)
os.mkdir(compact)
rows, differ = {}, 0
for table in ["samples", "stacks", "frames", "objects", "processes", "mappings", "events", "recordings"]:
    target = statement.replace("/data/compact", compact).replace("/data/profiles", dataset).replace("samples", table)
    duckdb.execute(target)
    whole = f"select * from read_parquet('{dataset}/{table}/*/*.parquet', hive_partitioning = true)"
    compacted = f"select * from read_parquet('{compact}/{table}/*.parquet')"
    [(rows[table],)] = duckdb.execute(f"select count(*) from ({compacted})").fetchall()
    for one, other in [(whole, compacted), (compacted, whole)]:
        [(count,)] = duckdb.execute(f"select count(*) from (select * from ({one}) except all select * from ({other}))").fetchall()
        differ += count
json.dump(dict(rows=rows, differ=differ), sys.stdout)
