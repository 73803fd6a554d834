# Copyright The tapedeck Authors
# SPDX-License-Identifier: Apache-2.0
"""An experiment over many runs: each task replays a shard, with the runner as a process of its executor. What follows -- are flags of experiment.

    spark-submit experiment.py 's3://tapes/prod?region=eu-central-1' --shards 64 --out ./exp -- --runner 'exec:node agent.js' --scorer 'exec:./check.sh'
"""

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

from pyspark.sql import SparkSession

COMMAND = os.environ.get('TAPEDECK', 'tapedeck')


def replay(shard, shards, deck, flags):
    """The files of a shard: its plan and its outcomes. A task that is tried again replays its shard again; experiment merge takes each run once."""
    with tempfile.TemporaryDirectory() as state:
        done = subprocess.run([COMMAND, 'experiment', deck, '--state', state, '--shard', f'{shard}/{shards}', '--quiet', *flags], capture_output=True)
        if done.returncode not in (0, 1, 3):  # a shard alone is inconclusive
            raise RuntimeError(f'shard {shard} of {shards} ended with {done.returncode}: {done.stderr[-2000:].decode(errors="replace")}')
        return shard, {file.name: file.read_bytes() for file in pathlib.Path(state).iterdir() if file.is_file()}


def main():
    if '--' not in sys.argv:
        sys.exit(__doc__)
    at = sys.argv.index('--')
    flags = sys.argv[at + 1:]
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('deck', help='as tapedeck names it')
    parser.add_argument('--shards', type=int, default=8)
    parser.add_argument('--out', required=True, help='a folder for what the tasks wrote')
    args = parser.parse_args(sys.argv[1:at])
    deck, shards = args.deck, args.shards
    # An agent costs money and time: no shard is replayed twice at once for speed.
    spark = SparkSession.builder.appName('tapedeck experiment').config('spark.speculation', 'false').getOrCreate()
    folders = []
    for shard, files in spark.sparkContext.parallelize(range(1, shards + 1), shards).map(lambda shard: replay(shard, shards, deck, flags)).toLocalIterator():
        folder = pathlib.Path(args.out, f'part-{shard}')
        folder.mkdir(parents=True, exist_ok=True)
        for name, body in files.items():
            (folder / name).write_bytes(body)
        folders.append(folder)
    sys.exit(subprocess.run([COMMAND, 'experiment', 'merge', *folders]).returncode)


if __name__ == '__main__':
    main()
