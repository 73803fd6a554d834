# Copyright The tapedeck Authors
# SPDX-License-Identifier: Apache-2.0
"""Check every tape and every piece of evidence that the reels of a deck hold, replaced ones too.

    spark-submit --py-files tapedeck_spark.py verify.py s3a://tapes/prod
"""

import sys

import tapedeck_spark as tapedeck


def requests(rows):
    for row in rows:
        yield tapedeck.request({'tenant': row['tenant'], 'trace_id': row['trace_id'], 'tape': row['tape'], 'formats': row['formats'], 'files': row['files']},
                               [row['evidence']] if row['evidence'] else [])


def fields(answer):
    found = answer.get('verdict', {})
    problems = [' '.join((p['code'], p['path'], p['detail'])) for p in found.get('problems', [])]
    return {**answer, 'run_id': found.get('run_id'), 'grade': found.get('grade'), 'problems': '; '.join(problems + [text for text in (found.get('error'), answer.get('error')) if text])}


def verify(spark, deck):
    rows = tapedeck.reels(spark, deck).where('tape IS NOT NULL OR evidence IS NOT NULL').select('tenant', 'trace_id', 'tape', 'formats', 'files', 'evidence')
    return tapedeck.ask(rows, 'tenant STRING, trace_id STRING, run_id STRING, grade STRING, problems STRING', requests, 'verify', fields=fields)


def main():
    args = tapedeck.arguments(__doc__)
    checked = verify(tapedeck.session('tapedeck verify'), args.deck).selectExpr(
        'count(*)', "count_if(problems > '')", "slice(collect_list(if(problems > '', concat_ws(' ', tenant, trace_id, problems), NULL)), 1, 20)").first()
    print(f'{checked[0]} rows, {checked[1]} with problems')
    print(*checked[2], sep='\n', file=sys.stderr)
    sys.exit(1 if checked[1] else 0)


if __name__ == '__main__':
    main()
