# Copyright The tapedeck Authors
# SPDX-License-Identifier: Apache-2.0
"""OpenAI Agents SDK: INSTRUMENTATION is NAME[-chat|-anthropic][-handoff|-astool][-session][-trace][-sdk], -anthropic by way of LiteLLM, -sdk with the package of the same family for OpenAI's SDK."""

import os
import sys
from dataclasses import dataclass

import instrument_frameworks as instrument
import recorder

NAME, *SHAPE = sys.argv[1].split("-")
MODEL = "claude-sonnet-4-5" if "anthropic" in SHAPE else "gpt-4o-mini"
flush = instrument.start(
    NAME, family="openai_agents+openai" if "sdk" in SHAPE else "openai_agents", openinference=["openai_agents:OpenAIAgentsInstrumentor"], langfuse=["openai_agents:OpenAIAgentsInstrumentor"], mlflow="openai", logfire=["openai_agents"],
    contrib=["openai_agents:OpenAIAgentsInstrumentor"],
)

import agents  # noqa: E402

if "chat" in SHAPE:
    agents.set_default_openai_api("chat_completions")


def model():
    if "anthropic" not in SHAPE:
        return MODEL
    from agents.extensions.models.litellm_model import LitellmModel

    return LitellmModel("anthropic/" + MODEL, base_url=recorder.URL, api_key="none")


@dataclass
class Question:
    question: str


def tool(function):
    return agents.function_tool(function, strict_mode=False)


async def agent(task, tools, sub):
    given, handoffs = [tool(t) for t in tools], []
    if sub:
        name, description, system, functions = sub
        inner = agents.Agent(name=name, instructions=system, tools=[tool(t) for t in functions], model=model())
        if "handoff" in SHAPE:
            handoffs = [agents.handoff(inner, tool_name_override=name, tool_description_override=description, on_handoff=lambda context, asked: None, input_type=Question)]
        elif "astool" in SHAPE:
            given.append(inner.as_tool(name, description, parameters=Question, input_builder=lambda options: options["params"]["question"]))
        else:

            async def ask(question: str) -> str:
                return (await agents.Runner.run(inner, question)).final_output

            given.append(agents.function_tool(ask, name_override=name, description_override=description))
    main = agents.Agent(name="assistant", instructions=task["system"], tools=given, handoffs=handoffs, model=model())
    limit = {"max_turns": task["max_steps"]} if task.get("max_steps") else {}
    if "session" in SHAPE:
        limit["session"] = agents.SQLiteSession("s-4")
        await limit["session"].add_items(task["history"] or [])
        task["history"] = None
    if "trace" in SHAPE:
        with agents.trace("Support", group_id="thread-9"):
            return await run(main, task, limit)
    return await run(main, task, limit)


async def run(main, task, limit):
    asked = task["history"] + [{"role": "user", "content": task["user"]}] if task.get("history") else task["user"]
    if task.get("stream"):
        running = agents.Runner.run_streamed(main, asked, **limit)
        async for _ in running.stream_events():
            pass
        return running.final_output
    return (await agents.Runner.run(main, asked, **limit)).final_output


recorder.main(agent, "openai-agents-" + sys.argv[1] + os.environ.get("VERSION", ""), ("anthropic/" if "anthropic" in SHAPE else "") + MODEL, flush, sys.argv[2:], asynchronous=True)
