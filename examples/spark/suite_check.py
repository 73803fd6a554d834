# Copyright The tapedeck Authors
# SPDX-License-Identifier: Apache-2.0
"""Hold the runs of a deck against what cases expect. The cases are a file or folder that every executor sees.

    spark-submit --py-files tapedeck_spark.py suite_check.py s3a://tapes/prod --cases /cases/tapes --where "agent = 'clerk'"
"""

import sys

import tapedeck_spark as tapedeck
from pyspark.sql import functions as F


def requests(rows):
    for row in rows:
        yield tapedeck.request(row)


def check(spark, deck, cases, where='true'):
    """A row for each run and case."""
    tapedeck.views(spark, deck)
    rows = spark.table('runs').where(where).where('tape IS NOT NULL').select('tenant', 'trace_id', 'area', 'tape')
    said = tapedeck.ask(rows, 'tenant STRING, trace_id STRING, run_id STRING, error STRING, cases ARRAY<STRUCT<case: STRING, held: BOOLEAN>>', requests, 'suite', 'check', cases,
                        fields=lambda answer: {**answer, 'cases': [{'case': c['case'], 'held': c['held']} for c in answer.get('cases', [])]})
    return said.select('tenant', 'trace_id', 'run_id', 'error', F.explode_outer('cases').alias('of')).select('tenant', 'trace_id', 'run_id', 'error', 'of.*')


def main():
    args = tapedeck.arguments(__doc__, ('--cases', {'required': True}), ('--where', {'default': 'true', 'help': 'which runs, by the columns of a reel'}))
    lines = check(tapedeck.session('tapedeck suite check'), args.deck, args.cases, args.where).where('case IS NOT NULL OR error IS NOT NULL').groupBy('case', 'error').agg(
        F.count_if('held').alias('held'), F.count('*').alias('runs'), F.min(F.expr('if(held, NULL, run_id)')).alias('such_as')).orderBy('case').collect()
    for row in lines:
        print(row.error or f'{row.case}: {row.held} of {row.runs} runs hold', f'; not so {row.such_as}' if row.such_as else '')
    sys.exit(1 if any(row.error or row.held < row.runs for row in lines) else 0)


if __name__ == '__main__':
    main()
