# Copyright The tapedeck Authors
# SPDX-License-Identifier: Apache-2.0
"""Pydantic AI: INSTRUMENTATION is NAME[-vN][-responses|-anthropic], vN the version of its settings."""

import os
import sys

import instrument_frameworks as instrument
import recorder

NAME, *SHAPE = sys.argv[1].split("-")
MODEL = "claude-sonnet-4-5" if "anthropic" in SHAPE else "gpt-4o-mini"
version = [int(word[1]) for word in SHAPE if word[0] == "v"]
flush = instrument.start(NAME, logfire=[] if version else ["pydantic_ai"], openinference=[], mlflow="pydantic_ai")

from pydantic_ai import Agent, ModelRetry, Tool  # noqa: E402
from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart, UserPromptPart  # noqa: E402
from pydantic_ai.models.instrumented import InstrumentationSettings  # noqa: E402
from pydantic_ai.usage import UsageLimits  # noqa: E402

if NAME == "openinference":
    from openinference.instrumentation.pydantic_ai import OpenInferenceSpanProcessor
    from opentelemetry import trace

    trace.get_tracer_provider()._active_span_processor._span_processors = (OpenInferenceSpanProcessor(), *trace.get_tracer_provider()._active_span_processor._span_processors)
if version:
    Agent.instrument_all(InstrumentationSettings(version=version[0], **({"event_mode": "logs"} if "logs" in SHAPE else {})))
elif NAME in ("own", "langfuse", "openinference"):
    Agent.instrument_all()


def model():
    if "anthropic" in SHAPE:
        from pydantic_ai.models.anthropic import AnthropicModel
        from pydantic_ai.providers.anthropic import AnthropicProvider

        return AnthropicModel(MODEL, provider=AnthropicProvider(api_key="none", base_url=recorder.URL))
    from pydantic_ai.models import openai
    from pydantic_ai.providers.openai import OpenAIProvider

    cls = openai.OpenAIResponsesModel if "responses" in SHAPE else getattr(openai, "OpenAIChatModel", None) or openai.OpenAIModel
    return cls(MODEL, provider=OpenAIProvider(api_key="none", base_url=recorder.URL + "/v1"))


def tool(function):
    async def run(*args, **kwargs):
        try:
            return await function(*args, **kwargs)
        except recorder.ToolError as e:
            raise ModelRetry(str(e)) from e

    for name in ("__name__", "__qualname__", "__doc__", "__signature__", "__annotations__"):
        setattr(run, name, getattr(function, name))
    return Tool(run, takes_ctx=False, max_retries=3)


async def agent(task, tools, sub):
    given = [tool(t) for t in tools]
    if sub:
        name, description, system, functions = sub
        inner = Agent(model(), name=name, instructions=system, tools=[tool(t) for t in functions])

        async def ask(question: str) -> str:
            return (await inner.run(question)).output

        given.append(Tool(ask, name=name, description=description))
    main = Agent(model(), name="assistant", tools=given, **{"system_prompt" if "system" in SHAPE else "instructions": task["system"]})
    history = [
        ModelRequest(parts=[UserPromptPart(content=m["content"])]) if m["role"] == "user" else ModelResponse(parts=[TextPart(content=m["content"])]) for m in task.get("history") or []
    ]
    limits = UsageLimits(request_limit=task["max_steps"]) if task.get("max_steps") else None
    if task.get("stream"):
        async with main.run_stream(task["user"], message_history=history or None, usage_limits=limits) as result:
            return await result.get_output()
    return (await main.run(task["user"], message_history=history or None, usage_limits=limits)).output


recorder.main(agent, "pydantic-ai-" + sys.argv[1] + os.environ.get("VERSION", ""), MODEL, flush, sys.argv[2:], asynchronous=True)
