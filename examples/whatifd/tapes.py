# Copyright The tapedeck Authors
# SPDX-License-Identifier: Apache-2.0
"""Tapes as traces of whatifd 0.3.0, with the recorded answers as their tool cache.

    tapedeck export ./deck --format whatifd > traces.jsonl

    for trace in tapes.read("traces.jsonl"):
        cache = tapes.cache(trace)
"""
import json

from whatifd.adapters.protocols import RawTrace
from whatifd.contract import TraceInput
from whatifd.replay.tool_cache import build_tool_cache
from whatifd.types.sensitive import Sensitive


def read(path):
    """Yields a RawTrace for each line."""
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            trace = json.loads(line)
            for name in ("user_message", "original_response"):
                trace[name] = Sensitive(trace[name], classification="tape")
            yield RawTrace(**trace)


def cache(trace):
    """Returns the tool cache of a trace: a lookup has the recorded answer, or fails."""
    return build_tool_cache(trace.tool_spans, trace_id=trace.trace_id)


def trace_input(trace):
    """Returns what a runner is asked."""
    return TraceInput(user_message=trace.user_message.unwrap(reason="replay"), metadata=trace.metadata)
