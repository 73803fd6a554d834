# Copyright The tapedeck Authors
# SPDX-License-Identifier: Apache-2.0
"""Strands Agents: python strands_agent.py GROUP INSTRUMENTATION OPTIN API [SCENARIO ...]

OPTIN is OTEL_SEMCONV_STABILITY_OPT_IN, - for none. API: openai, anthropic, bedrock, litellm, each with -graph
(the agent as the node of a graph) or -async (stream_async)."""

import asyncio
import os
import sys

import recorder
from instrument_graphs import SINK, URL, setup

group, instrumentation, optin, api, *scenarios = sys.argv[1:]
api, _, shape = api.partition("-")
if optin != "-":
    os.environ["OTEL_SEMCONV_STABILITY_OPT_IN"] = optin
if instrumentation == "openinference":
    from openinference.instrumentation.strands_agents import StrandsAgentsToOpenInferenceProcessor
    from opentelemetry import trace
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor

    made = TracerProvider()
    made.add_span_processor(StrandsAgentsToOpenInferenceProcessor())
    made.add_span_processor(SimpleSpanProcessor(OTLPSpanExporter(SINK)))
    trace.set_tracer_provider(made)
    flush = made.force_flush
else:
    flush, _ = setup(instrumentation, "strands")
from strands import Agent, tool  # noqa: E402

MODELS = {"openai": "gpt-4o-mini", "anthropic": "claude-sonnet-4-5", "bedrock": "us.amazon.nova-lite-v1:0", "litellm": "openai/gpt-4o-mini"}


def model(stream):
    if api == "anthropic":
        from strands.models.anthropic import AnthropicModel

        return AnthropicModel(client_args={"base_url": URL, "api_key": "sk-local", "max_retries": 0}, model_id=MODELS[api], max_tokens=1024)
    if api == "bedrock":
        from strands.models import BedrockModel

        os.environ.update(AWS_ACCESS_KEY_ID="local", AWS_SECRET_ACCESS_KEY="local")
        return BedrockModel(model_id=MODELS[api], region_name="us-east-1", endpoint_url=URL, streaming=stream)
    if api == "litellm":
        from strands.models.litellm import LiteLLMModel

        return LiteLLMModel(client_args={"api_base": URL + "/v1", "api_key": "sk-local"}, model_id=MODELS[api])
    from strands.models.openai import OpenAIModel

    return OpenAIModel(client_args={"base_url": URL + "/v1", "api_key": "sk-local", "max_retries": 0}, model_id=MODELS[api])


def agent(task, functions, sub):
    tools = [tool(f) for f in functions]
    if sub:
        inner = [tool(f) for f in sub[3]]

        def billing_agent(question: str) -> str:
            return str(Agent(name=sub[0], model=model(False), system_prompt=sub[2], tools=inner, callback_handler=None)(question))

        billing_agent.__name__, billing_agent.__doc__ = sub[0], sub[1]
        tools.append(tool(billing_agent))
    history = [{"role": m["role"], "content": [{"text": m["content"]}]} for m in task["history"]]
    made = Agent(name="assistant", model=model(task["stream"]), system_prompt=task["system"], tools=tools, messages=history, callback_handler=None)
    more = {"limits": {"turns": task["max_steps"]}} if task["max_steps"] else {}
    if shape == "graph":
        from strands.multiagent import GraphBuilder

        builder = GraphBuilder()
        builder.add_node(made, "assistant")
        return str(builder.build()(task["user"]).results["assistant"].result).strip()
    if shape == "async":
        return asyncio.run(streamed(made, task["user"], more))
    return str(made(task["user"], **more)).strip()


async def streamed(made, asked, more):
    async for event in made.stream_async(asked, **more):
        result = event.get("result")
    return str(result).strip()


recorder.main(agent, group, MODELS[api], flush, scenarios or None)
