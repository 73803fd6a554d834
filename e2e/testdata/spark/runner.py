# Copyright The tapedeck Authors
# SPDX-License-Identifier: Apache-2.0
"""A runner for the test of experiments in Spark: its answer is a function of the run."""

import json
import sys

print(json.dumps({'v': 1, 'type': 'hello', 'protocol': 'whatifd-exec/1', 'runner_name': 'fixed', 'runner_version': '1', 'capabilities': []}), flush=True)
for line in sys.stdin:
    asked = json.loads(line)
    if asked['type'] == 'shutdown':
        break
    if asked['type'] == 'replay_request':
        run = asked['trace_input']['metadata'].get('run_id', '')
        print(json.dumps({'v': 1, 'type': 'replay_response', 'request_id': asked['request_id'], 'output': {'text': 'answer ' + run[:1]}}), flush=True)
