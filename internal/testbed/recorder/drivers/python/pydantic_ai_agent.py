# Copyright The tapedeck Authors
# SPDX-License-Identifier: Apache-2.0
"""Pydantic AI: INSTRUMENTATION is NAME[-vN][-responses|-anthropic|-gemini][-iter|-events][-typed], vN the version of its settings; -iter and -events drive
the run step by step, -typed has the model answer by a tool."""

import os
import sys

import instrument_frameworks as instrument
import recorder

NAME, *SHAPE = sys.argv[1].split("-")
MODEL = "claude-sonnet-4-5" if "anthropic" in SHAPE else "gemini-2.5-flash" if "gemini" in SHAPE else "gpt-4o-mini"
version = [int(word[1]) for word in SHAPE if word[0] == "v"]
flush = instrument.start(NAME, family="pydantic_ai", logfire=[] if version else ["pydantic_ai"], openinference=[], mlflow="pydantic_ai")

from pydantic import BaseModel  # noqa: E402
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
    if "gemini" in SHAPE:
        from pydantic_ai.models.google import GoogleModel
        from pydantic_ai.providers.google import GoogleProvider

        return GoogleModel(MODEL, provider=GoogleProvider(api_key="none", base_url=recorder.URL))
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


class Reply(BaseModel):
    answer: str


async def agent(task, tools, sub):
    given = [tool(t) for t in tools]
    if sub:
        name, description, system, functions = sub
        inner = Agent(model(), name=name, instructions=system, tools=[tool(t) for t in functions])

        async def ask(question: str) -> str:
            return (await inner.run(question)).output

        given.append(Tool(ask, name=name, description=description))
    main = Agent(model(), name="assistant", tools=given, **({"output_type": Reply} if "typed" in SHAPE else {}), **{"system_prompt" if "system" in SHAPE else "instructions": task["system"]})
    history = [
        ModelRequest(parts=[UserPromptPart(content=m["content"])]) if m["role"] == "user" else ModelResponse(parts=[TextPart(content=m["content"])]) for m in task.get("history") or []
    ]
    limits = UsageLimits(request_limit=task["max_steps"]) if task.get("max_steps") else None
    more = {"message_history": history or None, "usage_limits": limits}
    if "iter" in SHAPE:
        async with main.iter(task["user"], **more) as steps:
            async for _ in steps:
                pass
        return text(steps.result.output)
    if "events" in SHAPE:
        async with main.run_stream_events(task["user"], **more) as events:
            async for event in events:
                result = getattr(event, "result", None)
        return text(result.output)
    if task.get("stream"):
        async with main.run_stream(task["user"], **more) as result:
            return text(await result.get_output())
    return text((await main.run(task["user"], **more)).output)


def text(output):
    return output.model_dump_json() if "typed" in SHAPE else output


SKIPPED = {"handoff"} if "typed" in SHAPE else set()  # the other agent answers with text
SCENARIOS = sys.argv[2:] or [s for s in recorder.call("/scenarios") if s not in SKIPPED]
recorder.main(agent, "pydantic-ai-" + sys.argv[1] + os.environ.get("VERSION", ""), MODEL, flush, SCENARIOS, asynchronous=True, answer_tool=("final_result", "answer") if "typed" in SHAPE else None)
