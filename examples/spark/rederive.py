# Copyright The tapedeck Authors
# SPDX-License-Identifier: Apache-2.0
"""Derive the tapes of a deck again, by the version of tapedeck that the executors have: reels in, reels out.

    spark-submit --py-files tapedeck_spark.py rederive.py s3a://tapes/prod --to 's3://tapes/prod?region=eu-central-1'
"""

import functools
import itertools
import sys

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

import tapedeck_spark as tapedeck

RANK = ('undecided', 'runs', 'replays')
NARROW = ['tenant', 'trace_id', 'part', 'area', 'replay_run_id', 'replay_of', 'run_id', 'items', 'revision', 'formats', 'complete', 'keep', 'date', 'tape_bytes']

SCHEMA = 'tenant STRING, trace_id STRING, runs INT, error STRING, reel STRING, bytes BIGINT'
BROADCAST = 2_000_000  # traces that lie in several reels; of more, all rows are brought together


def requests(rows, below=None):
    """A line for each trace. Its rows follow each other; they are one by the rule of docs/deck.md."""
    for (tenant, trace), group in itertools.groupby(rows, lambda row: (row['tenant'], row['trace_id'])):
        group = list(group)
        if below and max(row['revision'] or 0 for row in group) >= below:
            continue
        area = max((row['area'] for row in group), key=RANK.index)
        parts = {row['part']: row['evidence'] for row in group}
        newest = max(group, key=lambda row: (row['items'] or 0, row['formats'] or []))
        yield tapedeck.request({
            'tenant': tenant, 'trace_id': trace, 'area': area, 'digests': sorted(parts),
            'replay_run_id': min((row['replay_run_id'] for row in group if row['area'] == area and row['replay_run_id']), default=None),
            'replay_of': min((row['replay_of'] for row in group if row['replay_of']), default=None),
            'formats': newest['formats'], 'keep': group[0]['keep'], 'date': min(row['date'] for row in group),
            'incomplete': not any(row['complete'] for row in group),
            'evidence_alone': any(row['run_id'] for row in group) and not any(row['tape_bytes'] for row in group),
        }, [parts[digest] for digest in sorted(parts)])


def rederive(spark, deck, to, below=None):
    """A frame of one row for each trace and each reel, whose making makes the reels. A task that is tried again, or twice at once, makes the
    same reels: its traces and their order are the same, and a reel is named by its bytes."""
    rows = tapedeck.reels(spark, deck).where("evidence IS NOT NULL AND keep IS DISTINCT FROM 'dropped'")
    spread = rows.groupBy('tenant', 'trace_id').agg(F.min('reel').alias('a'), F.max('reel').alias('b')).where('a < b').select('tenant', 'trace_id').persist()
    many, rows, key = spread.count(), rows.select(*NARROW, 'evidence'), ['tenant', 'trace_id']
    # Rows of one trace follow each other in a reel. Those of a trace in several reels are brought together; the others stay where they are.
    frames = []
    if many <= BROADCAST:
        frames.append(rows.join(F.broadcast(spread), key, 'left_anti') if many else rows)
        rows = rows.join(F.broadcast(spread), key, 'left_semi')
    if many:
        frames.append(rows.repartition(*key).sortWithinPartitions(*key, 'part', 'date', F.desc('items'), F.desc('revision')))
    done = [tapedeck.ask(frame.select(*NARROW, 'evidence'), SCHEMA, lambda rows: requests(rows, below), 'derive', '--to', to, fields=fields) for frame in frames]
    return functools.reduce(DataFrame.union, done)


def fields(answer):
    """An answer is about a trace, or about a reel."""
    return {**answer, 'reel': answer['reel']['key'], 'bytes': answer['reel']['bytes']} if 'reel' in answer else answer


def main():
    args = tapedeck.arguments(__doc__, ('--to', {'required': True, 'help': 'the deck of reels that is written, as tapedeck names it: DECK itself, or a new one'}),
                              ('--below', {'type': int, 'help': 'only traces that no program of this revision or a later one has derived'}))
    spark = tapedeck.session('tapedeck rederive')
    traces, runs, made, size, failed, some = rederive(spark, args.deck, args.to, args.below).selectExpr(
        'count(trace_id)', 'coalesce(sum(runs), 0)', 'count(reel)', 'coalesce(sum(bytes), 0)', 'count(error)',
        "slice(collect_list(if(error IS NULL, NULL, concat_ws(' ', tenant, trace_id, error))), 1, 20)").first()
    print(f'{traces} traces, {runs} runs, {made} reels of {size} bytes, {failed} failed')
    print(*some, sep='\n', end='\n' if some else '', file=sys.stderr)
    sys.exit(1 if failed else 0)


if __name__ == '__main__':
    main()
