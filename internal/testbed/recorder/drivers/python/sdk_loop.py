# Copyright The tapedeck Authors
# SPDX-License-Identifier: Apache-2.0
"""Loops written by hand on the SDKs of providers.

    RECORDER=... python sdk_loop.py TALK INSTRUMENTATION[:VERSION] [root] [deco] [async] [SCENARIO ...]

TALK is a class of a file sdk_*.py: it asks the model and keeps the conversation in the form of its API. INSTRUMENTATION is a function of instrument_sdk.py. With `root`
the run has a span of its own, with `deco` each tool has, made as the instrumentation's documentation shows.
"""

import asyncio
import importlib
import inspect
import json
import os
import sys

import recorder


def drive(coroutine):
    """Runs a coroutine that never waits."""
    try:
        coroutine.send(None)
    except StopIteration as done:
        return done.value
    raise RuntimeError("it waits")


class Agent:
    def __init__(self, talk, model, asynchronous, kit, root, deco):
        self.talk, self.model, self.asynchronous, self.kit, self.root, self.deco = talk, model, asynchronous, kit, root, deco

    async def execute(self, tools, call):
        id, name, args = call
        if name not in tools:
            return id, name, f"Error: there is no tool {name}", True
        try:
            result = tools[name](**args)
            if inspect.isawaitable(result):
                result = await result
            return id, name, result if isinstance(result, str) else json.dumps(result), False
        except Exception as e:
            return id, name, f"Error: {e}", True

    async def loop(self, system, history, user, tools, schemas, stream, limit):
        talk = self.talk(self.model, system, history, user, schemas, self.asynchronous)
        if hasattr(talk, "run"):
            return await talk.run(tools, stream, limit)
        for _ in range(limit or 12):
            text, calls = await talk.ask(stream)
            if not calls:
                return text
            if self.asynchronous:
                results = await asyncio.gather(*(self.execute(tools, call) for call in calls))
            else:
                results = [await self.execute(tools, call) for call in calls]
            talk.tell(results)
        raise RuntimeError("no answer within the limit of steps")

    def tools(self, functions):
        return {f.__name__: self.kit.tool(f) if self.deco else f for f in functions}

    def __call__(self, task, functions, sub):
        schemas, tools = list(task["tools"] or []), self.tools(functions)
        if sub:
            name, description, system, inner = sub

            if self.asynchronous:

                async def ask(question: str) -> str:
                    return await self.loop(system, [], question, self.tools(inner), self.schemas, False, 0)
            else:

                def ask(question: str) -> str:
                    return drive(self.loop(system, [], question, self.tools(inner), self.schemas, False, 0))

            ask.__name__ = ask.__qualname__ = name
            ask.__doc__ = description
            self.schemas = task["sub"]["tools"]
            schemas.append({"name": name, "description": description, "parameters": {"type": "object", "properties": {"question": {"type": "string"}}, "required": ["question"]}})
            tools.update(self.tools([ask]))
        more = (task["history"] or [], task["user"], tools, schemas, bool(task.get("stream")), task.get("max_steps") or 0)
        if self.asynchronous:

            async def answer(question):
                return await self.loop(task["system"], *more)
        else:

            def answer(question):
                return drive(self.loop(task["system"], *more))

        return (self.kit.root(answer) if self.root else answer)(task["user"])


if __name__ == "__main__":
    name, instrumentation, rest = sys.argv[1], sys.argv[2], sys.argv[3:]
    options = [o for o in rest if o in ("root", "deco", "async")]
    import instrument_sdk

    kit = getattr(instrument_sdk, instrumentation.split(":")[0])(name)
    modules = [importlib.import_module("sdk_" + m) for m in ("openai", "anthropic", "gemini", "compatible", "vendors", "hosted", "google")]
    modules[0].ASYNC = "async" in options
    talk = next(t for module in modules if (t := getattr(module, name, None)))
    group = "-".join([name.replace("_", "-"), instrumentation.replace(":", "").replace("_", "-"), *options])
    agent = Agent(talk, talk.model, "async" in options, kit, "root" in options, "deco" in options)
    recorder.main(agent, group, talk.model, kit.flush, [s for s in rest if s not in options], "async" in options)
    os._exit(0)  # clients keep threads that wait
