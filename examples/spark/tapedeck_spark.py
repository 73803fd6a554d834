# Copyright The tapedeck Authors
# SPDX-License-Identifier: Apache-2.0
"""A deck of reels in Spark: its rows as frames, and the command tapedeck as what works on them.

Spark reads columns, spreads rows over executors and gathers answers. Format, derivation and checks are those of the command.
"""

import argparse
import base64
import collections
import itertools
import json
import os
import subprocess
import tempfile
import threading

import pyarrow
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

COMMAND = os.environ.get('TAPEDECK', 'tapedeck')  # on every executor

# The rows of one run are one: the rule of docs/queries.md, in the SQL of Spark.
ALL_RUNS = """
WITH trace AS (
  SELECT tenant, trace_id, array_sort(collect_set(part) FILTER (WHERE keep IS DISTINCT FROM 'dropped')) AS there, bool_or(area = 'replays') AS replay
  FROM reels WHERE part IS NOT NULL GROUP BY tenant, trace_id
), ranked AS (
  SELECT r.* EXCEPT (evidence, area, reel, date), if(t.replay, 'replays', r.area) AS area,
    row_number() OVER (PARTITION BY r.tenant, r.run_id ORDER BY r.items DESC, r.revision DESC, r.tape_id DESC) AS place
  FROM reels r JOIN trace t ON r.tenant = t.tenant AND r.trace_id = t.trace_id
  WHERE r.run_id IS NOT NULL AND (r.parts = t.there AND r.keep IS DISTINCT FROM 'dropped' OR size(t.there) = 0)
)
SELECT * EXCEPT (place) FROM ranked WHERE place = 1"""
RUNS = "SELECT * FROM all_runs WHERE area = 'runs'"
RUN_TOOLS = 'SELECT * EXCEPT (tape), explode(tools) AS tool FROM runs'
RUN_VERDICTS = 'SELECT * EXCEPT (tape), explode(verdicts) AS verdict FROM runs'
CALLS = """
SELECT * EXCEPT (tape, e), e.name AS tool, e.status AS call_status, e.args AS args
FROM (SELECT *, explode(from_json(tape, 'events ARRAY<STRUCT<type: STRING, name: STRING, status: STRING, args: STRING>>').events) AS e FROM runs)
WHERE e.type = 'tool_call'"""


def arguments(about, *more):
    """The command line of a job: DECK, and flags that are pairs of a name and a dict."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument('deck', help='as Spark reads it: a folder, or s3a://bucket/prefix')
    for name, how in more:
        parser.add_argument(name, **how)
    return parser.parse_args()


def session(name):
    """A session; where it runs is said by spark-submit. A reel is a task, and few rows are in memory at a time, because rows with content are large."""
    config = {
        'spark.sql.session.timeZone': 'UTC', 'spark.sql.caseSensitive': 'true', 'spark.sql.parquet.columnarReaderBatchSize': '256',
        'spark.sql.execution.arrow.maxRecordsPerBatch': '256', 'spark.sql.files.maxPartitionBytes': '512m', 'spark.sql.files.openCostInBytes': '512m',
    }
    return SparkSession.builder.appName(name).config(map=config).getOrCreate()


def reels(spark, deck):
    """All rows of a deck, in reel the file that each lies in, and in date its day."""
    rows = spark.read.option('recursiveFileLookup', 'true').option('mergeSchema', 'true').parquet(deck.rstrip('/') + '/reels')
    for name in ('keep', 'signature'):  # reels of older programs have no such column
        if name not in rows.columns:
            rows = rows.withColumn(name, F.lit(None).cast('string'))
    reel = F.col('_metadata.file_path')
    return rows.withColumn('reel', reel).withColumn('date', F.regexp_extract(reel, '/date=([0-9-]{10})/', 1))


def views(spark, deck):
    """The views of docs/queries.md: reels, all_runs, runs, run_tools, run_verdicts, calls."""
    reels(spark, deck).createOrReplaceTempView('reels')
    for name, query in (('all_runs', ALL_RUNS), ('runs', RUNS), ('run_tools', RUN_TOOLS), ('run_verdicts', RUN_VERDICTS), ('calls', CALLS)):
        spark.sql(query).createOrReplaceTempView(name)


def request(fields, parts=()):
    """A line for the command: what is known of a trace, and its evidence."""
    head = json.dumps({name: value for name, value in fields.items() if value is not None})[:-1].encode()
    return head + (b',' if len(head) > 1 else b'') + b'"parts":[' + b','.join(b'"%s"' % base64.b64encode(part) for part in parts) + b']}\n'


class Command:
    """`tapedeck … --stdin` beside a task. It holds one request, and what it has answered is gone from here. If it dies, it is started again and
    asked once more what it has not answered; after the last time, the error says what it wrote to stderr."""

    def __init__(self, *args, restarts=2, cores=1):
        self.args, self.restarts = [COMMAND, *args, '--stdin'], restarts
        self.environ = dict(os.environ, GOMAXPROCS=str(cores))

    def answers(self, lines):
        lines, waiting, died = iter(lines), collections.deque(), 0
        while True:
            with tempfile.TemporaryFile() as log, subprocess.Popen(self.args, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, env=self.environ) as process:
                feeder = Feeder(process.stdin, list(waiting), lines, waiting)
                feeder.start()
                try:
                    for answer in map(json.loads, process.stdout):
                        if answer.pop('line', None):
                            waiting.popleft()
                        yield answer
                    feeder.join()
                    code = process.wait()
                finally:
                    process.kill()  # where whoever takes the answers has left
                if feeder.failure:
                    raise feeder.failure
                if code in (0, 1) and feeder.done and not waiting:
                    return
                log.seek(0, os.SEEK_END)
                log.seek(max(0, log.tell() - 2000))
                if died == self.restarts:
                    raise RuntimeError(f'{" ".join(self.args)} ended with {code}: {log.read().decode(errors="replace").strip()}')
                died += 1


class Feeder(threading.Thread):
    """Writes lines to a process, and remembers those that wait for an answer."""

    def __init__(self, to, again, lines, waiting):
        super().__init__(daemon=True)
        self.to, self.again, self.lines, self.waiting, self.done, self.failure = to, again, lines, waiting, False, None

    def run(self):
        try:
            for line in self.again:
                self.to.write(line)
            for line in self.lines:
                self.waiting.append(line)
                self.to.write(line)
            self.done = True
            self.to.close()
        except (BrokenPipeError, ValueError):
            pass  # the process has died
        except Exception as failure:  # of Spark, which reads the rows
            self.failure = failure
            self.to.close()


def rows_of(batches):
    """The rows of Arrow batches as dicts. Evidence stays where it is."""
    for batch in batches:
        names = batch.schema.names
        for i, row in enumerate(batch.select([name for name in names if name != 'evidence']).to_pylist()):
            if 'evidence' in names:
                row['evidence'] = batch['evidence'][i].as_buffer()
            yield row


def ask(frame, schema, requests, *args, fields=None):
    """A frame of what the command answers: requests makes lines of the rows of a task, and fields a row of each answer."""
    columns = [field.split()[0] for field in schema.split(', ')]
    fields = fields or (lambda answer: answer)

    def task(batches):
        answers = Command(*args).answers(requests(rows_of(batches)))
        while some := list(itertools.islice(map(fields, answers), 512)):
            yield pyarrow.RecordBatch.from_pylist([{name: row.get(name) for name in columns} for row in some], schema=arrow)

    from pyspark.sql.pandas.types import to_arrow_schema
    from pyspark.sql.types import StructType
    arrow = to_arrow_schema(StructType.fromDDL(schema))
    return frame.mapInArrow(task, schema)
