# Copyright The tapedeck Authors
# SPDX-License-Identifier: Apache-2.0
"""Mozilla's any-agent with the spans that it writes itself: python any_agent_agent.py FRAMEWORK [SCENARIO ...]

FRAMEWORK is one that it stands before: tinyagent, openai, langchain, smolagents, agno, llama_index, google."""

import json
import sys

import instrument_frameworks as instrument
import recorder

FRAMEWORK = sys.argv[1]
MODEL = "gpt-4o-mini"
flush = instrument.start("own")

from any_agent import AgentConfig, AnyAgent  # noqa: E402


def told(function):
    """A tool has to tell its failure by itself, and returns a text."""

    async def run(*args, **kwargs):
        try:
            result = await function(*args, **kwargs)
        except recorder.ToolError as e:
            return f"Error: {e}"
        return result if isinstance(result, str) else json.dumps(result, ensure_ascii=False)

    for name in ("__name__", "__qualname__", "__doc__", "__signature__", "__annotations__"):
        setattr(run, name, getattr(function, name))
    return run


async def made(name, system, functions):
    return await AnyAgent.create_async(FRAMEWORK, AgentConfig(
        model_id="openai:" + MODEL, api_base=recorder.URL + "/v1", api_key="none", name=name, instructions=system, tools=[*functions],
        model_args={"tool_choice": "auto"} if FRAMEWORK == "tinyagent" else {}, callbacks=callbacks()))


def callbacks():
    from any_agent.callbacks import get_default_callbacks
    from any_agent.callbacks.span_print import ConsolePrintSpan

    return [c for c in get_default_callbacks() if not isinstance(c, ConsolePrintSpan)]


async def agent(task, tools, sub):
    if sub:
        name, description, system, functions = sub
        inner = await made(name, system, functions)

        async def ask(question: str) -> str:
            return str((await inner.run_async(question)).final_output)

        ask.__name__, ask.__doc__ = name, description
        tools = [*tools, ask]
    main = await made("assistant", task["system"], tools)
    return str((await main.run_async(task["user"], **({"max_turns": task["max_steps"]} if task.get("max_steps") and FRAMEWORK in ("tinyagent", "openai") else {}))).final_output)


recorder.main(agent, "any-agent-" + FRAMEWORK.replace("_", "-"), MODEL if FRAMEWORK == "tinyagent" else "openai:" + MODEL, flush, sys.argv[2:], asynchronous=True)
