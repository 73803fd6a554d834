# Copyright The tapedeck Authors
# SPDX-License-Identifier: Apache-2.0
"""A question of one's own: which tools fail, by agent. It is asked of the tapes, by the views of docs/queries.md, without the command.

    spark-submit --py-files tapedeck_spark.py insight.py s3a://tapes/prod
"""

import tapedeck_spark as tapedeck

QUERY = """
SELECT agent, tool, count(*) AS calls, round(avg(if(call_status = 'error', 1, 0)), 3) AS error_rate
FROM calls GROUP BY agent, tool ORDER BY error_rate DESC, calls DESC, agent, tool"""


def main():
    args = tapedeck.arguments(__doc__)
    spark = tapedeck.session('tapedeck insight')
    tapedeck.views(spark, args.deck)
    for row in spark.sql(QUERY).collect():
        print(row.agent, row.tool, row.calls, row.error_rate)


if __name__ == '__main__':
    main()
