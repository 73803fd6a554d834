# Copyright The tapedeck Authors
# SPDX-License-Identifier: Apache-2.0
"""AG2 from 1.0 on: INSTRUMENTATION is NAME."""

import os
import sys

import instrument_frameworks as instrument
import recorder

NAME, *SHAPE = sys.argv[1].split("-")
MODEL = "gpt-4o-mini"
flush = instrument.start(NAME, mlflow="ag2", openinference=["openai:OpenAIInstrumentor"], logfire=["openai"])

from ag2 import Agent, tool  # noqa: E402
from ag2.config import OpenAIConfig, OpenAIResponsesConfig  # noqa: E402
from ag2.middleware import TelemetryMiddleware  # noqa: E402


def made(name, system, functions, stream=False):
    config = (OpenAIResponsesConfig if "responses" in SHAPE else OpenAIConfig)(model=MODEL, api_key="none", base_url=recorder.URL + "/v1", streaming=stream)
    spans = [TelemetryMiddleware(agent_name=name, provider_name="openai", model_name=MODEL)] if NAME in ("own", "langfuse") else []
    return Agent(name, system, config=config, tools=functions, middleware=spans)


async def agent(task, tools, sub):
    given = [tool(t, name=t.__name__, description=t.__doc__) for t in tools]
    if sub:
        name, description, system, functions = sub
        inner = made(name, system, [tool(t, name=t.__name__, description=t.__doc__) for t in functions])

        async def ask(question: str) -> str:
            return (await inner.ask(question)).body

        given.append(tool(ask, name=name, description=description))
    return (await made("assistant", task["system"], given, bool(task.get("stream"))).ask(task["user"])).body


SKIPPED = {"history_followup", "step_limit"}  # it is given no messages of others, and no limit
recorder.main(agent, "ag2-" + sys.argv[1] + os.environ.get("VERSION", ""), MODEL, flush, sys.argv[2:] or [s for s in recorder.call("/scenarios") if s not in SKIPPED], asynchronous=True)
