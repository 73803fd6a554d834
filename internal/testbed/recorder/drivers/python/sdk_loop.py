# Copyright The tapedeck Authors
# SPDX-License-Identifier: Apache-2.0
"""Loops written by hand on the SDKs of providers.

    RECORDER=... python sdk_loop.py TALK INSTRUMENTATION[:VERSION] [root] [deco] [app=STYLE] [step] [dispatch] [message] [method] [llm[=message]] [stream] [async] [SCENARIO ...]

TALK is a class of a file sdk_*.py: it asks the model and keeps the conversation in the form of its API. INSTRUMENTATION is a function of instrument_sdk.py or instrument_platforms.py. With `root`
the run has a span of its own, with `deco` each tool has, made as the instrumentation's documentation shows, or in a STYLE of application.py. With `step` each request to
the model is a function of the application with a span. With `dispatch` one function of the application runs every tool and answers with a text where one fails, with
`message` it takes the call as the model wrote it and returns the message for the model; that function has the span then. With `method` the run is a method of an object. With `llm` a function with
the vendor's decorator for models is around each request, and returns the answer or its message (chat completions alone). With `stream` every answer is streamed.
"""

import asyncio
import importlib
import inspect
import json
import os
import sys

import application
import recorder


def drive(coroutine):
    """Runs a coroutine that never waits."""
    try:
        coroutine.send(None)
    except StopIteration as done:
        return done.value
    raise RuntimeError("it waits")


class Agent:
    def __init__(self, talk, model, asynchronous, kit, options):
        self.talk, self.model, self.asynchronous, self.kit, self.options = talk, model, asynchronous, kit, options
        self.root, self.deco = "root" in options, "deco" in options

    async def execute(self, tools, call):
        if not {"dispatch", "message"} & set(self.options):
            return await self.direct(tools, call)
        id, name, args = call
        failed = []

        async def run(name, arguments):
            *_, text, bad = await self.direct(tools, (id, name, arguments))
            failed.append(bad)
            return text

        async def handle(tool_call):
            text = await run(tool_call["function"]["name"], json.loads(tool_call["function"]["arguments"]))
            return {"role": "tool", "tool_call_id": tool_call["id"], "name": name, "content": text}

        async def execute_tool(name: str, arguments: dict) -> str:
            return await run(name, arguments)

        async def handle_tool_call(tool_call: dict) -> dict:
            return await handle(tool_call)

        if "dispatch" in self.options:
            text = await self.spanned("tool", execute_tool, name, args)
        else:
            text = (await self.spanned("tool", handle_tool_call, {"id": id, "type": "function", "function": {"name": name, "arguments": json.dumps(args)}}))["content"]
        return id, name, text, failed[0]

    async def spanned(self, kind, function, *args):
        """Calls a function with a span of the application; a function that is not asynchronous where the program is not."""
        made = self.kit.tool if kind == "tool" else self.kit.step
        if self.asynchronous:
            return await made(function)(*args)

        def run(*args):  # not wrapped: decorators look through to what is asynchronous
            return drive(function(*args))

        run.__name__ = run.__qualname__ = function.__name__
        run.__doc__, run.__signature__, run.__annotations__ = function.__doc__, inspect.signature(function), function.__annotations__
        return made(run)(*args)

    async def direct(self, tools, call):
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
        for o in self.options:
            if o in ("llm", "llm=message"):
                talk.answers = o[4:]
                application.wrap_model(talk, self.kit.name)
        if hasattr(talk, "run"):
            return await talk.run(tools, stream, limit)
        for _ in range(limit or 12):
            if "step" in self.options:

                async def call_model(messages):
                    return await talk.ask(stream)

                text, calls = await self.spanned("model", call_model, getattr(talk, "messages", None))
            else:
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
        return {f.__name__: self.kit.tool(f) if self.deco and not {"dispatch", "message"} & set(self.options) else f for f in functions}

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
        more = (task["history"] or [], task["user"], tools, schemas, bool(task.get("stream")) or "stream" in self.options, task.get("max_steps") or 0)
        if self.asynchronous:

            async def answer(question):
                return await self.loop(task["system"], *more)
        else:

            def answer(question):
                return drive(self.loop(task["system"], *more))

        if not self.root:
            return answer(task["user"])
        if "method" not in self.options:
            return self.kit.root(answer)(task["user"])

        if self.asynchronous:

            async def run(self, question: str, session: str = "s-1"):
                return await answer(question)
        else:

            def run(self, question: str, session: str = "s-1"):
                return answer(question)

        return type("Assistant", (), {"run": self.kit.root(run)})().run(task["user"])


if __name__ == "__main__":
    name, instrumentation, rest = sys.argv[1], sys.argv[2], sys.argv[3:]
    options = [o for o in rest if o in ("root", "deco", "async", "step", "dispatch", "message", "method", "stream", "llm", "llm=message") or o.startswith("app=")]
    import instrument_platforms
    import instrument_sdk

    wanted = instrumentation.split(":")[0]
    kit = (getattr(instrument_sdk, wanted, None) or getattr(instrument_platforms, wanted))(name)
    kit.step, kit.name = kit.root, instrumentation
    for o in options:
        if o.startswith("app="):
            made = application.STYLES[o[4:]]
            kit.root, kit.step, kit.tool = made("run", "assistant"), made("model", "call_model"), lambda f: made("tool", f.__name__)(f)
    modules = [importlib.import_module("sdk_" + m) for m in ("openai", "anthropic", "gemini", "compatible", "vendors", "hosted", "google")]
    modules[0].ASYNC = "async" in options
    talk = next(t for module in modules if (t := getattr(module, name, None)))
    group = "-".join([name.replace("_", "-"), instrumentation.replace(":", "").replace("_", "-"), *(o.replace("=", "-").replace("_", "-") for o in options)])
    agent = Agent(talk, talk.model, "async" in options, kit, options)
    recorder.main(agent, group, talk.model, kit.flush, [s for s in rest if s not in options], "async" in options)
    os._exit(0)  # clients keep threads that wait
