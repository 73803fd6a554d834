# Copyright The tapedeck Authors
# SPDX-License-Identifier: Apache-2.0

"""Scans an Iceberg table by PyIceberg whenever a line comes, and counts its runs by a view in DuckDB."""

import json
import sys

import duckdb
from pyiceberg.catalog import load_catalog

config = json.loads(sys.argv[1])
catalog = load_catalog("deck", **config["catalog"])
view = open(config["view"]).read()

for _ in sys.stdin:
    try:
        reels = catalog.load_table("tapedeck.reels").scan().to_arrow()
    except OSError as error:
        if not isinstance(error, FileNotFoundError) and "NOT_FOUND" not in str(error):
            raise
        print(json.dumps({"gone": True}), flush=True)
        continue
    db = duckdb.connect()
    db.register("reels", reels)
    db.execute(view)
    runs, trace = db.execute("SELECT count(*), max(trace_id) FILTER (WHERE trace_id = ?) FROM runs", [config["trace"]]).fetchone()
    print(json.dumps({"rows": reels.num_rows, "runs": runs, "traces": trace or ""}), flush=True)
