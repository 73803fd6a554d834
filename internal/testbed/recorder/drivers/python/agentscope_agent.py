# Copyright The tapedeck Authors
# SPDX-License-Identifier: Apache-2.0
"""AgentScope 2: INSTRUMENTATION is NAME[-anthropic]."""

import os
import sys

import instrument_frameworks as instrument
import recorder

NAME, *SHAPE = sys.argv[1].split("-")
MODEL = "claude-sonnet-4-5" if "anthropic" in SHAPE else "gpt-4o-mini"
flush = instrument.start(NAME, family="agentscope")

from agentscope.agent import Agent, ReActConfig  # noqa: E402
from agentscope.message import AssistantMsg, UserMsg  # noqa: E402
from agentscope.middleware import TracingMiddleware  # noqa: E402
from agentscope.permission import PermissionBehavior, PermissionDecision  # noqa: E402
from agentscope.tool import FunctionTool, Toolkit  # noqa: E402


def model(stream):
    if "anthropic" in SHAPE:
        from agentscope.credential import AnthropicCredential
        from agentscope.model import AnthropicChatModel

        return AnthropicChatModel(AnthropicCredential(api_key="none", base_url=recorder.URL), MODEL, stream=stream, max_retries=0)
    from agentscope.credential import OpenAICredential
    from agentscope.model import OpenAIChatModel

    return OpenAIChatModel(OpenAICredential(api_key="none", base_url=recorder.URL + "/v1"), MODEL, stream=stream, max_retries=0)


def made(name, system, functions, limit=None, stream=False):
    allowed = PermissionDecision(behavior=PermissionBehavior.ALLOW, message="")
    tools = [FunctionTool(text_of(f), name=f.__name__, description=f.__doc__, permission=allowed) for f in functions]
    more = {"react_config": ReActConfig(max_iters=limit)} if limit else {}
    return Agent(name, system, model(stream), Toolkit(tools=tools), [TracingMiddleware()], **more)


def text_of(function):
    """A tool returns text."""
    import json

    async def run(*args, **kwargs):
        result = await function(*args, **kwargs)
        return result if isinstance(result, str) else json.dumps(result, ensure_ascii=False)

    for name in ("__name__", "__qualname__", "__doc__", "__signature__", "__annotations__"):
        if hasattr(function, name):
            setattr(run, name, getattr(function, name))
    return run


async def agent(task, tools, sub):
    if sub:
        name, description, system, functions = sub
        inner = made(name, system, functions)

        async def ask(question: str) -> str:
            return (await inner.reply(UserMsg("user", question))).get_text_content()

        ask.__name__, ask.__doc__ = name, description
        tools = [*tools, ask]
    main = made("assistant", task["system"], tools, task.get("max_steps"), bool(task.get("stream")))
    history = [UserMsg("user", m["content"]) if m["role"] == "user" else AssistantMsg("assistant", m["content"]) for m in task.get("history") or []]
    return (await main.reply([*history, UserMsg("user", task["user"])])).get_text_content()


recorder.main(agent, "agentscope-" + sys.argv[1] + os.environ.get("VERSION", ""), MODEL, flush, sys.argv[2:], asynchronous=True)
