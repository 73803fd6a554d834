# Copyright The tapedeck Authors
# SPDX-License-Identifier: Apache-2.0
"""LiveKit Agents, a session that is spoken to in text: INSTRUMENTATION is own (its own spans) or one of instrument_frameworks.py, with -traceai for Future AGI's processor."""

import os
import sys

import instrument_frameworks as instrument
import recorder

MODEL = "gpt-4o-mini"
flush = instrument.start(sys.argv[1], openinference=["openai:OpenAIInstrumentor"])

from livekit.agents import Agent, AgentSession, function_tool, llm  # noqa: E402
from livekit.agents.telemetry import set_tracer_provider  # noqa: E402
from livekit.plugins import openai  # noqa: E402
from opentelemetry import trace  # noqa: E402

set_tracer_provider(trace.get_tracer_provider())


def offered(function, schema):
    async def run(raw_arguments: dict[str, object]):
        try:
            return await function(**raw_arguments)
        except recorder.ToolError as e:
            raise llm.ToolError(str(e)) from e

    return function_tool(run, raw_schema={"name": schema["name"], "description": schema["description"], "parameters": schema["parameters"]})


async def ask(instructions, tools, question, history=(), limit=None):
    context = llm.ChatContext.empty()
    for m in history:
        context.add_message(role=m["role"], content=m["content"])
    model = openai.LLM(model=MODEL, base_url=recorder.URL + "/v1", api_key="none", max_retries=0, _strict_tool_schema=False)
    session = AgentSession(llm=model, max_tool_steps=limit or 12)
    failures = []
    session.on("error", lambda event: failures.append(event.error))
    await session.start(Agent(instructions=instructions, tools=tools, chat_ctx=context), record=False)
    try:
        result = await session.run(user_input=question)
        said = [e.item for e in result.events if e.type == "message" and e.item.role == "assistant"]
    finally:
        await session.aclose()
    if failures and not said:
        raise RuntimeError(f"the session failed: {failures[0]}")
    return said[-1].text_content if said else None


async def agent(task, tools, sub):
    schemas = {t["name"]: t for t in (task.get("tools") or []) + ((task.get("sub") or {}).get("tools") or [])}
    given = [offered(f, schemas[f.__name__]) for f in tools]
    if sub:
        name, description, system, functions = sub
        inner = [offered(f, schemas[f.__name__]) for f in functions]

        async def below(raw_arguments: dict[str, object]):
            return await ask(system, inner, raw_arguments["question"])

        given.append(function_tool(below, raw_schema={"name": name, "description": description, "parameters": {"type": "object", "properties": {"question": {"type": "string"}}, "required": ["question"]}}))
    return await ask(task["system"], given, task["user"], task.get("history") or [], task.get("max_steps"))


recorder.main(agent, "livekit-" + sys.argv[1], MODEL, flush, sys.argv[2:], asynchronous=True)
