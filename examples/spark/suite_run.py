# Copyright The tapedeck Authors
# SPDX-License-Identifier: Apache-2.0
"""Replay the cases of a large suite: each task replays one case, with the agent as a process of its executor. What follows -- is the command.

    spark-submit suite_run.py /cases/tapes --input stdin -- python agent.py
"""

import json
import os
import subprocess
import sys

from pyspark.sql import SparkSession

COMMAND = os.environ.get('TAPEDECK', 'tapedeck')


def replay(name, suite, flags, command):
    done = subprocess.run([COMMAND, 'suite', 'run', '--suite', suite, '--only', name, *flags, '--', *command], capture_output=True, text=True)
    return name, done.returncode, (done.stdout + done.stderr)[-2000:]


def main():
    if '--' not in sys.argv[2:]:
        sys.exit(__doc__)
    at = sys.argv.index('--')
    suite, flags, command = sys.argv[1], sys.argv[2:at], sys.argv[at + 1:]
    listed = subprocess.run([COMMAND, 'suite', 'list', '--suite', suite, '--json'], capture_output=True, text=True, check=True).stdout
    names = [json.loads(line)['name'] for line in listed.splitlines()]
    spark = SparkSession.builder.appName('tapedeck suite run').config('spark.speculation', 'false').getOrCreate()
    done = spark.sparkContext.parallelize(names, len(names)).map(lambda name: replay(name, suite, flags, command)).collect()
    for name, code, said in done:
        if code:
            print(said)
    print(f'{sum(code == 0 for _, code, _ in done)} of {len(done)} cases passed')
    sys.exit(max((code for _, code, _ in done), default=0))


if __name__ == '__main__':
    main()
