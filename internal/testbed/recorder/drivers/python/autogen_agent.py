# Copyright The tapedeck Authors
# SPDX-License-Identifier: Apache-2.0
"""AutoGen AgentChat: INSTRUMENTATION is NAME[-anthropic][-team], -team a round-robin team of the agent."""

import asyncio
import gc
import os
import sys

import instrument_frameworks as instrument
import recorder

NAME, *SHAPE = sys.argv[1].split("-")
MODEL = "claude-3-5-haiku-20241022" if "anthropic" in SHAPE else "gpt-4o-mini-2024-07-18"  # AutoGen itself asks for the dated model
flush = instrument.start(
    NAME, family="autogen", openinference=["autogen_agentchat:AutogenAgentChatInstrumentor"], langfuse=["autogen_agentchat:AutogenAgentChatInstrumentor"], mlflow="autogen", logfire=["openai"]
)

from autogen_agentchat.agents import AssistantAgent  # noqa: E402
from autogen_agentchat.messages import TextMessage  # noqa: E402
from autogen_core.tools import FunctionTool  # noqa: E402
from autogen_ext.models.openai import OpenAIChatCompletionClient  # noqa: E402


def client_of_model():
    if "anthropic" in SHAPE:
        from autogen_ext.models.anthropic import AnthropicChatCompletionClient

        return AnthropicChatCompletionClient(model=MODEL, api_key="none", base_url=recorder.URL, max_retries=0, max_tokens=1024)
    return OpenAIChatCompletionClient(model=MODEL, api_key="none", base_url=recorder.URL + "/v1", max_retries=0)


def made(name, system, functions, limit=12, stream=False):
    client = client_of_model()
    given = [FunctionTool(f, description=f.__doc__, name=f.__name__) for f in functions]
    return AssistantAgent(name, model_client=client, system_message=system, tools=given, max_tool_iterations=limit, model_client_stream=stream, reflect_on_tool_use=False)


async def agent(task, tools, sub):
    if sub:
        name, description, system, functions = sub
        inner = made(name, system, functions)

        async def ask(question: str) -> str:
            return (await inner.run(task=question)).messages[-1].content

        ask.__name__, ask.__doc__ = name, description
        tools = [*tools, ask]
    main = made("assistant", task["system"], tools, task.get("max_steps") or 12, bool(task.get("stream")))
    if "team" in SHAPE:
        from autogen_agentchat.teams import RoundRobinGroupChat

        main = RoundRobinGroupChat([main], max_turns=1)
    asked = [TextMessage(content=m["content"], source=m["role"]) for m in task.get("history") or []] + [TextMessage(content=task["user"], source="user")]
    answer = (await main.run(task=asked)).messages[-1].to_text()
    gc.collect()  # what was left of the generators ends their spans in this run
    await asyncio.sleep(0)
    return answer


SKIPPED = {"history_followup"}  # what an assistant said before is no message to it
recorder.main(agent, "autogen-" + sys.argv[1] + os.environ.get("VERSION", ""), MODEL, flush, sys.argv[2:] or [s for s in recorder.call("/scenarios") if s not in SKIPPED], asynchronous=True)
