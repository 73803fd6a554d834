# Copyright The tapedeck Authors
# SPDX-License-Identifier: Apache-2.0
"""Search evidence and tapes of a deck for what redaction would replace by the rules of today. tapedeck scrub rewrites what is found.

    spark-submit --py-files tapedeck_spark.py redact.py s3a://tapes/prod --profile strict
"""

import sys

import tapedeck_spark as tapedeck
from pyspark.sql import functions as F


def requests(rows):
    for row in rows:
        yield tapedeck.request({'tenant': row['tenant'], 'trace_id': row['trace_id'], 'tape': row['tape']}, [row['evidence']] if row['evidence'] else [])


def search(spark, deck, *flags):
    """A row for each place in which a rule finds something."""
    rows = tapedeck.reels(spark, deck).where('tape IS NOT NULL OR evidence IS NOT NULL').select('tenant', 'trace_id', 'tape', 'evidence')
    found = tapedeck.ask(rows, 'tenant STRING, trace_id STRING, error STRING, hits ARRAY<STRUCT<file: STRING, path: STRING, rule: STRING>>', requests, 'redact', '--dry-run', *flags,
                         fields=lambda answer: {**answer, 'hits': [{name: hit.get(name) for name in ('file', 'path', 'rule')} for hit in answer.get('hits', [])]})
    return found.select('tenant', 'trace_id', 'error', F.explode_outer('hits').alias('hit')).select('tenant', 'trace_id', 'error', 'hit.*').where('rule IS NOT NULL OR error IS NOT NULL')


def main():
    args = tapedeck.arguments(__doc__, ('--profile', {'default': 'default'}))
    found = search(tapedeck.session('tapedeck redact'), args.deck, '--profile', args.profile).groupBy('rule', 'error').agg(
        F.count('*').alias('values'), F.count_distinct('tenant', 'trace_id').alias('traces'), F.min('trace_id').alias('such_as')).orderBy('rule').collect()
    for row in found:
        print(row.error or row.rule, row['values'], 'values in', row.traces, 'traces, such as', row.such_as)
    sys.exit(1 if found else 0)


if __name__ == '__main__':
    main()
