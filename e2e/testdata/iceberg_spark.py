# Copyright The tapedeck Authors
# SPDX-License-Identifier: Apache-2.0

"""Counts the runs of an Iceberg table in Spark by a view: JARS CATALOG VIEW TRACE."""

import glob
import json
import sys

from pyspark.sql import SparkSession

jars, path, view, trace = sys.argv[1:]
spark = (
    SparkSession.builder.master("local[2]")
    .config("spark.ui.enabled", "false")
    .config("spark.jars", ",".join(glob.glob(jars + "/*.jar")))
    .config("spark.sql.catalog.deck", "org.apache.iceberg.spark.SparkCatalog")
    .config("spark.sql.catalog.deck.type", "jdbc")
    .config("spark.sql.catalog.deck.uri", "jdbc:sqlite:" + path)
    .config("spark.sql.catalog.deck.warehouse", "file:" + path + ".warehouse")
    .config("spark.sql.catalog.deck.jdbc.schema-version", "V1")
    .getOrCreate()
)
for statement in open(view).read().split(";"):
    if statement.strip():
        spark.sql(statement)
rows = spark.sql("SELECT count(*) FROM deck.tapedeck.reels").first()[0]
runs, found = spark.sql(f"SELECT count(*), max(trace_id) FILTER (WHERE trace_id = '{trace}') FROM runs").first()
print(json.dumps({"rows": rows, "runs": runs, "traces": found or ""}))
