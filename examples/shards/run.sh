#!/bin/sh
# Copyright The tapedeck Authors
# SPDX-License-Identifier: Apache-2.0
#
# Several processes replay a part of an experiment each; the report is that of one process.
#
#   examples/shards/run.sh ./deck ./work --runner "exec:node agent.js" --scorer "exec:./check.sh"
#
# What was done when it is killed is kept in ./work: the same command goes on. SHARDS says how many processes (3), TAPEDECK which program.
set -eu
deck=$1 work=$2 shards=${SHARDS:-3} tapedeck=${TAPEDECK:-tapedeck}
shift 2
mkdir -p "$work"
i=1
while [ "$i" -le "$shards" ]; do
	# A part alone is inconclusive, so its exit code says nothing: what it lacks is in the merged report as not tried.
	"$tapedeck" experiment "$deck" --state "$work/part-$i" --shard "$i/$shards" --quiet "$@" > /dev/null 2> "$work/part-$i.log" &
	i=$((i + 1))
done
wait
cat "$work"/part-*.log >&2
exec "$tapedeck" experiment merge "$work"/part-*/ --json
