# Copyright The tapedeck Authors
# SPDX-License-Identifier: Apache-2.0
"""Speaks whatifd-exec/1 for a function: python -c SHIM MODULE ATTR.

The function is called as whatifd calls it, with (trace_input, config, tool_cache), and may be a coroutine function. With whatifd
installed its own classes are passed, without it objects with the same members.
"""
import asyncio
import importlib
import inspect
import json
import os
import sys
from types import SimpleNamespace

PROTOCOL = "whatifd-exec/1"
wire = os.fdopen(os.dup(1), "w", encoding="utf-8")
os.dup2(2, 1)  # what the function prints is a log


def say(**frame):
    wire.write(json.dumps({"v": 1, **frame}) + "\n")
    wire.flush()


def hear():
    line = sys.stdin.buffer.readline()
    return json.loads(line) if line else None


class Miss(Exception):
    def __init__(self, tool):
        super().__init__("no recorded answer for tool " + repr(tool))
        self.tool = tool


class Lookup:
    """The recorded answers of one run."""

    def __init__(self, request_id, policy):
        self.request_id, self.policy, self.count, self.cache = request_id, policy, 0, {}

    def lookup(self, tool_name, args=None):
        self.count += 1
        lookup_id = "L%d" % self.count
        say(type="tool_lookup", request_id=self.request_id, lookup_id=lookup_id, tool_name=tool_name, args=args or {})
        answer = hear()
        if answer is None:
            sys.exit(0)
        if answer.get("type") != "tool_result" or answer.get("lookup_id") != lookup_id:
            raise RuntimeError("no answer to a lookup: %r" % (answer,))
        if not answer["hit"]:
            raise Miss(tool_name)
        return answer["output"] if "output" in answer else answer.get("output_json")


def classes():
    """Returns what makes the three arguments."""
    try:
        from whatifd.contract import ReplayConfig, ToolCache, TraceInput
    except ImportError:
        return lambda **v: SimpleNamespace(**v), lambda **v: SimpleNamespace(**v), lambda asked: asked

    def cache(asked):
        class Recorded(ToolCache):
            def lookup(self, tool_name, args):
                return asked.lookup(tool_name, args)

        return Recorded(cache={}, policy=asked.policy if asked.policy == "live" else "use-original")

    return TraceInput, ReplayConfig, cache


def output(result):
    """What a function returned, as the protocol wants it."""
    if hasattr(result, "model_dump"):
        result = result.model_dump(mode="python")
    if isinstance(result, str):
        result = {"text": result}
    if not isinstance(result, dict):
        result = vars(result)

    def plain(value):
        if hasattr(value, "unwrap"):  # whatifd wraps what is to be redacted
            return value.unwrap(reason="the answer of a replay")
        return vars(value) if hasattr(value, "__dict__") else str(value)

    return json.loads(json.dumps(result, default=plain))


def main(module, attribute):
    sys.path.insert(0, os.getcwd())
    run = getattr(importlib.import_module(module), attribute)
    trace_input, config, cache = classes()
    say(type="hello", protocol=PROTOCOL, runner_name=module + ":" + attribute, runner_version=str(getattr(sys.modules[module], "__version__", "0")), capabilities=[])
    policy = "use-original"
    while True:
        try:
            frame = hear()
        except ValueError:
            continue
        if frame is None or frame.get("type") == "shutdown":
            return
        if frame.get("type") == "hello_ack":
            policy = frame.get("tool_cache_policy", policy)
        if frame.get("type") != "replay_request":
            continue
        request_id = frame["request_id"]
        try:
            given = frame["replay_config"]
            result = run(
                trace_input(user_message=frame["trace_input"]["user_message"], metadata=frame["trace_input"].get("metadata", {})),
                config(system_prompt=given.get("system_prompt"), model=given.get("model"), overrides=given.get("overrides", {})),
                cache(Lookup(request_id, policy)),
            )
            if inspect.isawaitable(result):
                result = asyncio.run(awaited(result))
            say(type="replay_response", request_id=request_id, output=output(result))
        except Miss as miss:
            say(type="replay_error", request_id=request_id, code="tool_cache_miss", message=str(miss), retryable=False, details={"tool_name": miss.tool})
        except Exception as error:  # whatever a runner raises is its answer
            say(type="replay_error", request_id=request_id, code="runner_exception", message=str(error)[:2048], retryable=False, details={"exception_type": type(error).__name__})


async def awaited(result):
    return await result


main(*sys.argv[1:3])
