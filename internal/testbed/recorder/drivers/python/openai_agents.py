# Copyright The tapedeck Authors
# SPDX-License-Identifier: Apache-2.0
"""OpenAI Agents SDK: INSTRUMENTATION is NAME[-chat][-handoff][-astool]."""

import os
import sys
from dataclasses import dataclass

import instrument_frameworks as instrument
import recorder

NAME, *SHAPE = sys.argv[1].split("-")
MODEL = "gpt-4o-mini"
flush = instrument.start(
    NAME, openinference=["openai_agents:OpenAIAgentsInstrumentor"], langfuse=["openai_agents:OpenAIAgentsInstrumentor"], mlflow="openai", logfire=["openai_agents"],
    contrib=["openai_agents:OpenAIAgentsInstrumentor"],
)

import agents  # noqa: E402

if "chat" in SHAPE:
    agents.set_default_openai_api("chat_completions")


@dataclass
class Question:
    question: str


def tool(function):
    return agents.function_tool(function, strict_mode=False)


async def agent(task, tools, sub):
    given, handoffs = [tool(t) for t in tools], []
    if sub:
        name, description, system, functions = sub
        inner = agents.Agent(name=name, instructions=system, tools=[tool(t) for t in functions], model=MODEL)
        if "handoff" in SHAPE:
            handoffs = [agents.handoff(inner, tool_name_override=name, tool_description_override=description, on_handoff=lambda context, asked: None, input_type=Question)]
        elif "astool" in SHAPE:
            given.append(inner.as_tool(name, description, parameters=Question, input_builder=lambda options: options["params"]["question"]))
        else:

            async def ask(question: str) -> str:
                return (await agents.Runner.run(inner, question)).final_output

            given.append(agents.function_tool(ask, name_override=name, description_override=description))
    main = agents.Agent(name="assistant", instructions=task["system"], tools=given, handoffs=handoffs, model=MODEL)
    asked = task["history"] + [{"role": "user", "content": task["user"]}] if task.get("history") else task["user"]
    limit = {"max_turns": task["max_steps"]} if task.get("max_steps") else {}
    if task.get("stream"):
        run = agents.Runner.run_streamed(main, asked, **limit)
        async for _ in run.stream_events():
            pass
        return run.final_output
    return (await agents.Runner.run(main, asked, **limit)).final_output


recorder.main(agent, "openai-agents-" + sys.argv[1] + os.environ.get("VERSION", ""), MODEL, flush, sys.argv[2:], asynchronous=True)
