# Copyright The tapedeck Authors
# SPDX-License-Identifier: Apache-2.0
"""Oracle's WayFlow with the spans that it writes itself: python wayflow_agent.py INSTRUMENTATION [SCENARIO ...]

INSTRUMENTATION: own."""

import inspect
import json
import sys

import instrument_frameworks  # noqa: F401: the environment
import recorder
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from wayflowcore.agent import Agent, CallerInputMode
from wayflowcore.models import OpenAICompatibleModel
from wayflowcore.tools import tool
from wayflowcore.tracing.opentelemetry import OtelSimpleSpanProcessor
from wayflowcore.tracing.trace import Trace

MODEL = "gpt-4o-mini"


def processor():
    """The end of a trace shuts its processors down."""
    return OtelSimpleSpanProcessor(OTLPSpanExporter(recorder.URL + "/v1/traces"), resource=Resource.create({"service.name": "agent"}), mask_sensitive_information=False)


def offered(function):
    def run(*args, **kwargs):
        result = function(*args, **kwargs)
        return result if isinstance(result, str) else json.dumps(result, ensure_ascii=False)

    for name in ("__name__", "__qualname__", "__doc__"):
        setattr(run, name, getattr(function, name))
    run.__signature__ = function.__signature__.replace(return_annotation=str)
    run.__annotations__ = dict(function.__annotations__) | {"return": str}
    return tool(run, description_mode="only_docstring")


def made(name, system, functions, limit=None):
    model = OpenAICompatibleModel(model_id=MODEL, base_url=recorder.URL, api_key="none")
    return Agent(llm=model, tools=[offered(f) for f in functions], custom_instruction=system.replace("{{", "{ {"), max_iterations=limit or 10, caller_input_mode=CallerInputMode.ALWAYS, name=name, description=name,
                 initial_message=None)


def ask(member, question, history=()):
    talk = member.start_conversation()
    for m in history:
        (talk.append_user_message if m["role"] == "user" else talk.append_agent_message)(m["content"])
    talk.append_user_message(question)
    talk.execute()
    return talk.get_last_message().content


def agent(task, tools, sub):
    if sub:
        name, description, system, functions = sub
        inner = made(name, system, functions)

        def below(question: str) -> str:
            return ask(inner, question)

        below.__name__, below.__doc__ = name, description
        below.__signature__ = inspect.signature(below)
        tools = [*tools, below]
    with Trace(name="run", span_processors=[processor()]):
        return ask(made("assistant", task["system"], tools, task.get("max_steps")), task["user"], task.get("history") or [])


recorder.main(agent, "wayflow-" + sys.argv[1], MODEL, lambda: None, sys.argv[2:])
