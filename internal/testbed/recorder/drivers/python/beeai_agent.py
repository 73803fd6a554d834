# Copyright The tapedeck Authors
# SPDX-License-Identifier: Apache-2.0
"""BeeAI: INSTRUMENTATION is NAME[-anthropic][-calling], -calling its ToolCallingAgent, else its RequirementAgent."""

import os
import sys

import instrument_frameworks as instrument
import recorder

NAME, *SHAPE = sys.argv[1].split("-")
MODEL = "claude-sonnet-4-5" if "anthropic" in SHAPE else "gpt-4o-mini"
flush = instrument.start(NAME, openinference=["beeai:BeeAIInstrumentor"])

from beeai_framework.agents.requirement import RequirementAgent  # noqa: E402
from beeai_framework.agents.tool_calling import ToolCallingAgent  # noqa: E402
from beeai_framework.backend import AssistantMessage, UserMessage  # noqa: E402
from beeai_framework.memory import UnconstrainedMemory  # noqa: E402
from beeai_framework.tools import tool  # noqa: E402


def model(stream):
    if "anthropic" in SHAPE:
        from beeai_framework.adapters.anthropic import AnthropicChatModel

        os.environ["ANTHROPIC_API_BASE"] = recorder.URL
        return AnthropicChatModel(MODEL, api_key="none", base_url=recorder.URL, stream=stream)
    from beeai_framework.adapters.openai import OpenAIChatModel

    return OpenAIChatModel(MODEL, api_key="none", base_url=recorder.URL + "/v1", stream=stream)


async def made(name, description, system, functions, history=(), stream=False):
    memory = UnconstrainedMemory()
    await memory.add_many([UserMessage(m["content"]) if m["role"] == "user" else AssistantMessage(m["content"]) for m in history])
    tools = [tool(f, name=f.__name__, description=f.__doc__) for f in functions]
    if "calling" in SHAPE:
        return ToolCallingAgent(llm=model(stream), memory=memory, tools=tools, templates={"system": lambda template: template.update(defaults={"instructions": system})})
    return RequirementAgent(llm=model(stream), memory=memory, tools=tools, name=name, description=description, instructions=system)


async def agent(task, tools, sub):
    if sub:
        name, description, system, functions = sub
        inner = await made(name, description, system, functions)

        async def ask(question: str) -> str:
            return (await inner.run(question)).last_message.text

        ask.__name__, ask.__doc__ = name, description
        tools = [*tools, ask]
    main = await made("assistant", "Answers.", task["system"], tools, task.get("history") or [], bool(task.get("stream")))
    limit = {"max_iterations": task["max_steps"]} if task.get("max_steps") else {}
    return (await main.run(task["user"], max_retries_per_step=0, **limit)).last_message.text


recorder.main(agent, "beeai-" + sys.argv[1] + os.environ.get("VERSION", ""), MODEL, flush, sys.argv[2:], asynchronous=True, answer_tool=("final_answer", "response"))
