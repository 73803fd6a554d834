# Copyright The tapedeck Authors
# SPDX-License-Identifier: Apache-2.0
"""AgentScope 1 with the spans that it writes itself: API is openai or anthropic. python agentscope_classic.py API [SCENARIO ...]"""

import inspect
import json
import sys

import instrument_frameworks as instrument
import recorder

API = sys.argv[1]
MODEL = "claude-sonnet-4-5" if API == "anthropic" else "gpt-4o-mini"
flush = instrument.start("own")

import agentscope  # noqa: E402
from agentscope.agent import ReActAgent  # noqa: E402
from agentscope.formatter import AnthropicChatFormatter, OpenAIChatFormatter  # noqa: E402
from agentscope.memory import InMemoryMemory  # noqa: E402
from agentscope.message import Msg, TextBlock  # noqa: E402
from agentscope.model import OpenAIChatModel  # noqa: E402
from agentscope.tool import Toolkit, ToolResponse  # noqa: E402

OPTIONS = "client_kwargs" if "client_kwargs" in inspect.signature(OpenAIChatModel.__init__).parameters else "client_args"  # the latter up to 1.0.8
agentscope.init(tracing_url=recorder.URL + "/v1/traces")


def model(stream):
    if API == "anthropic":
        from agentscope.model import AnthropicChatModel

        return AnthropicChatModel(MODEL, api_key="none", stream=stream, **{OPTIONS: {"base_url": recorder.URL, "max_retries": 0}})
    return OpenAIChatModel(MODEL, api_key="none", stream=stream, **{OPTIONS: {"base_url": recorder.URL + "/v1", "max_retries": 0}})


def offered(function):
    async def run(*args, **kwargs):
        result = await function(*args, **kwargs)
        return ToolResponse(content=[TextBlock(type="text", text=result if isinstance(result, str) else json.dumps(result, ensure_ascii=False))])

    for name in ("__name__", "__qualname__", "__doc__"):
        setattr(run, name, getattr(function, name))
    run.__signature__ = inspect.signature(function).replace(return_annotation=ToolResponse)
    run.__annotations__ = dict(function.__annotations__) | {"return": ToolResponse}
    return run


def made(name, system, functions, limit=None, stream=False):
    toolkit = Toolkit()
    for f in functions:
        toolkit.register_tool_function(offered(f), func_description=f.__doc__)
    member = ReActAgent(name, system, model(stream), AnthropicChatFormatter() if API == "anthropic" else OpenAIChatFormatter(), toolkit, InMemoryMemory(), parallel_tool_calls=True, max_iters=limit or 10)
    member.set_console_output_enabled(False)
    return member


async def agent(task, tools, sub):
    if sub:
        name, description, system, functions = sub

        async def ask(question: str) -> str:
            return (await made(name, system, functions)(Msg("user", question, "user"))).get_text_content()

        ask.__name__, ask.__doc__ = name, description
        tools = [*tools, ask]
    main = made("assistant", task["system"], tools, task.get("max_steps"), bool(task.get("stream")))
    for m in task.get("history") or []:
        await main.memory.add(Msg(m["role"], m["content"], m["role"]))
    return (await main(Msg("user", task["user"], "user"))).get_text_content()


recorder.main(agent, "agentscope1-" + API, MODEL, flush, sys.argv[2:], asynchronous=True)
