# Copyright The tapedeck Authors
# SPDX-License-Identifier: Apache-2.0
"""The protocol of the recorder (see its doc.go) for drivers in Python.

    RECORDER=http://127.0.0.1:PORT [APP=STYLE] python FRAMEWORK.py INSTRUMENTATION [SCENARIO ...]

A driver is a function `agent(task, tools, sub) -> text` handed to `main`: `task` as the recorder gives it, `tools` as Python functions with the signature that the
schema says, `sub` as (name, description, system, tools) of the agent that is a tool of the main one, or None.
"""

import asyncio
import inspect
import json
import os
import sys
import traceback
import urllib.request

URL = os.environ.get("RECORDER", "http://127.0.0.1:4900")
TYPES = {"string": str, "integer": int, "number": float, "boolean": bool, "object": dict, "array": list}


class ToolError(Exception):
    """What a tool raises when the script says that it fails."""


def call(path, body=None):
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(URL + path, data, {"Content-Type": "application/json"}), timeout=60) as response:
        return json.loads(response.read() or b"null")


def function(tool, asynchronous=False):
    """The tool as a function with names, types and defaults as its schema has them."""
    properties, required = tool["parameters"].get("properties", {}), tool["parameters"].get("required", [])
    parameters = []
    for name in sorted(properties, key=lambda name: name not in required):
        kind = TYPES.get(properties[name].get("type"), str)
        if kind is list:
            kind = list[str]
        default = inspect.Parameter.empty if name in required else None
        parameters.append(inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=kind, default=default))

    def invoke(args, kwargs):
        bound = inspect.Signature(parameters).bind(*args, **kwargs)
        answer = call("/tool/" + tool["name"], dict(bound.arguments))
        if answer.get("error") is not None:
            raise ToolError(answer["error"])
        return answer["result"]

    if asynchronous:

        async def run(*args, **kwargs):
            return await asyncio.to_thread(invoke, args, kwargs)
    else:

        def run(*args, **kwargs):
            return invoke(args, kwargs)

    run.__name__ = run.__qualname__ = tool["name"]
    run.__doc__ = tool["description"]
    run.__signature__ = inspect.Signature(parameters, return_annotation=object)
    run.__annotations__ = {p.name: p.annotation for p in parameters}
    return run


def application(agent, asynchronous):
    """What puts the spans of an application around a tool, and agent with them around it: APP is a style of application.py, or STYLE:run, STYLE:tool for one of the two."""
    style, _, part = os.environ.get("APP", "").partition(":")
    if not style:
        return (lambda f: f), agent
    from application import STYLES

    made = STYLES[style]

    def around(task, tools, sub):
        if asynchronous:

            async def answer(question: str):
                return await agent(task, tools, sub)
        else:

            def answer(question: str):
                return agent(task, tools, sub)

        return made("run", "assistant")(answer)(task["user"])

    return (lambda f: made("tool", f.__name__)(f)) if part != "run" else (lambda f: f), around if part != "tool" else agent


def main(agent, group, model, flush, scenarios=None, asynchronous=False, answer_tool=None):
    """Runs the scenarios, one after another. flush sends what the instrumentation still holds; a coroutine as agent is run to its end.

    answer_tool is (name, argument) of the tool by which the framework makes its model answer. GROUP in the environment is another name of the group.
    """
    group = os.environ.get("GROUP", group)
    if os.environ.get("WRAP"):
        from wrapped import wrapped

        agent = wrapped(agent, os.environ["WRAP"], asynchronous)
    spanned, agent = application(agent, asynchronous)
    group += "-" + os.environ["APP"].replace(":", "-").replace("_", "-") if os.environ.get("APP") else ""
    loop = asyncio.Runner()  # one for all runs: clients of models keep their connections with it
    for scenario in scenarios or call("/scenarios"):
        task = call("/begin", {"group": group, "scenario": scenario, "model": model, "answer_tool": answer_tool and dict(zip(("name", "argument"), answer_tool))})
        tools, sub = [spanned(function(t, asynchronous)) for t in task.get("tools") or []], task.get("sub")
        if sub:
            sub = (sub["name"], sub["description"], sub["system"], [spanned(function(t, asynchronous)) for t in sub.get("tools") or []])
        output = error = None
        try:
            output = agent(task, tools, sub)
            if inspect.isawaitable(output):
                output = loop.run(output)
        except Exception as e:  # the run failed: that is what is recorded
            output, error = None, f"{type(e).__name__}: {e}"
            if os.environ.get("VERBOSE"):
                traceback.print_exc()
        flush()
        call("/end", {"output": output, "error": error})
        print(scenario, "ok" if error is None else error[:200], file=sys.stderr)
