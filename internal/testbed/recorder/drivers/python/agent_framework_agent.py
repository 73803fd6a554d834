# Copyright The tapedeck Authors
# SPDX-License-Identifier: Apache-2.0
"""Microsoft Agent Framework: INSTRUMENTATION is NAME[-responses]."""

import os
import sys

import instrument_frameworks as instrument
import recorder

NAME, *SHAPE = sys.argv[1].split("-")
MODEL = "gpt-4o-mini"
os.environ.update({"ENABLE_INSTRUMENTATION": "true", "ENABLE_SENSITIVE_DATA": "true"})
flush = instrument.start(NAME, openinference=[])

from agent_framework import Agent, FunctionTool, Message  # noqa: E402
from agent_framework.openai import OpenAIChatClient, OpenAIChatCompletionClient  # noqa: E402

if NAME == "openinference":
    from openinference.instrumentation.agent_framework import AgentFrameworkToOpenInferenceProcessor
    from opentelemetry import trace

    processors = trace.get_tracer_provider()._active_span_processor
    processors._span_processors = (AgentFrameworkToOpenInferenceProcessor(), *processors._span_processors)


def client(limit=None):
    made = (OpenAIChatClient if "responses" in SHAPE else OpenAIChatCompletionClient)(model=MODEL, api_key="none", base_url=recorder.URL + "/v1")
    if limit:
        made.function_invocation_configuration["max_iterations"] = limit
    return made


async def agent(task, tools, sub):
    schemas = {t["name"]: t["parameters"] for t in (task.get("tools") or []) + ((task.get("sub") or {}).get("tools") or [])}

    def given(functions):
        return [FunctionTool(name=f.__name__, description=f.__doc__, func=f, input_model=schemas[f.__name__]) for f in functions]

    used = given(tools)
    if sub:
        name, description, system, functions = sub
        used.append(Agent(client(), system, name=name, description=description, tools=given(functions)).as_tool(name=name, description=description, arg_name="question"))
    main = Agent(client(task.get("max_steps")), task["system"], name="assistant", tools=used)
    asked = [Message(m["role"], [m["content"]]) for m in task.get("history") or []] + [Message("user", [task["user"]])]
    if task.get("stream"):
        stream = main.run(asked, stream=True)
        async for _ in stream:
            pass
        return said(await stream.get_final_response())
    return said(await main.run(asked))


def said(response):
    """What it said last: the text of a response is that of all its messages."""
    return response.messages[-1].text if response.messages else response.text


recorder.main(agent, "agent-framework-" + sys.argv[1] + os.environ.get("VERSION", ""), MODEL, flush, sys.argv[2:], asynchronous=True)
