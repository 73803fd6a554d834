# Copyright The tapedeck Authors
# SPDX-License-Identifier: Apache-2.0
"""Haystack: python haystack_agent.py GROUP INSTRUMENTATION KIND API [SCENARIO ...]

KIND: agent (the component alone), pipeline (in a pipeline, with the connector where the instrumentation is one). API: openai, anthropic."""

import os
import sys

os.environ.setdefault("HAYSTACK_CONTENT_TRACING_ENABLED", "true")
import recorder  # noqa: E402
from instrument_graphs import URL, setup  # noqa: E402

group, instrumentation, kind, api, *scenarios = sys.argv[1:]
connector = None
if instrumentation == "connector":
    os.environ.update(LANGFUSE_PUBLIC_KEY="pk-lf-local", LANGFUSE_SECRET_KEY="sk-lf-local", LANGFUSE_HOST=URL, LANGFUSE_BASE_URL=URL)
    from haystack_integrations.components.connectors.langfuse import LangfuseConnector
    from langfuse import get_client

    connector, flush = LangfuseConnector, (lambda: get_client().flush())
else:
    flush, _ = setup(instrumentation, "haystack")
if instrumentation == "otel":
    from haystack import tracing
    from haystack.tracing import OpenTelemetryTracer
    from opentelemetry import trace

    tracing.enable_tracing(OpenTelemetryTracer(trace.get_tracer("haystack")))
from haystack import Pipeline  # noqa: E402
from haystack.components.agents import Agent  # noqa: E402
from haystack.dataclasses import ChatMessage  # noqa: E402
from haystack.tools import create_tool_from_function  # noqa: E402

MODELS = {"openai": "gpt-4o-mini", "anthropic": "claude-sonnet-4-5"}


def model(stream=False):
    more = {"streaming_callback": lambda chunk: None} if stream else {}
    if api == "anthropic":
        os.environ["ANTHROPIC_BASE_URL"] = URL
        from haystack_integrations.components.generators.anthropic import AnthropicChatGenerator

        return AnthropicChatGenerator(model=MODELS[api], max_retries=0, **more)
    from haystack.components.generators.chat import OpenAIChatGenerator

    return OpenAIChatGenerator(model=MODELS[api], api_base_url=URL + "/v1", max_retries=0, **more)


def agent(task, functions, sub):
    tools = [create_tool_from_function(f) for f in functions]
    if sub:
        inner = Agent(chat_generator=model(), system_prompt=sub[2], tools=[create_tool_from_function(f) for f in sub[3]])

        def ask(question: str) -> str:
            return inner.run(messages=[ChatMessage.from_user(question)])["last_message"].text

        tools.append(create_tool_from_function(ask, name=sub[0], description=sub[1]))
    limit = {"max_agent_steps": task["max_steps"]} if task["max_steps"] else {}
    made = Agent(chat_generator=model(task["stream"]), system_prompt=task["system"], tools=tools, **limit)
    messages = [ChatMessage.from_user(m["content"]) if m["role"] == "user" else ChatMessage.from_assistant(m["content"]) for m in task["history"]]
    messages.append(ChatMessage.from_user(task["user"]))
    if kind == "agent":
        return made.run(messages=messages)["last_message"].text
    pipeline = Pipeline()
    pipeline.add_component("agent", made)
    if connector:
        pipeline.add_component("tracer", connector("assistant"))
    return pipeline.run({"agent": {"messages": messages}})["agent"]["last_message"].text


recorder.main(agent, group, MODELS[api], flush, scenarios or None)
