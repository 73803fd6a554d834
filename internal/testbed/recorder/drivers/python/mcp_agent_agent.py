# Copyright The tapedeck Authors
# SPDX-License-Identifier: Apache-2.0
"""mcp-agent with functions as tools: API is openai or anthropic. python mcp_agent_agent.py API [SCENARIO ...]"""

import os
import sys

import instrument_frameworks  # noqa: F401: the environment
import recorder

os.environ["ANTHROPIC_BASE_URL"] = recorder.URL  # its client takes no other setting
from mcp_agent.agents.agent import Agent  # noqa: E402
from mcp_agent.app import MCPApp  # noqa: E402
from mcp_agent.config import AnthropicSettings, LoggerSettings, OpenAISettings, OpenTelemetrySettings, Settings  # noqa: E402
from mcp_agent.workflows.llm.augmented_llm import RequestParams  # noqa: E402
from opentelemetry import trace  # noqa: E402

API = sys.argv[1]
MODEL = {"openai": "gpt-4o-mini", "anthropic": "claude-sonnet-4-5"}[API]
SETTINGS = Settings(
    execution_engine="asyncio", logger=LoggerSettings(type="none", level="error"), usage_telemetry={"enabled": False},
    otel=OpenTelemetrySettings(enabled=True, service_name="agent", exporters=[{"otlp": {"endpoint": recorder.URL + "/v1/traces"}}]),
    openai=OpenAISettings(api_key="none", base_url=recorder.URL + "/v1", default_model=MODEL), anthropic=AnthropicSettings(api_key="none", base_url=recorder.URL, default_model=MODEL),
)
app = MCPApp(name="support", settings=SETTINGS)


def model():
    if API == "anthropic":
        from mcp_agent.workflows.llm.augmented_llm_anthropic import AnthropicAugmentedLLM

        return AnthropicAugmentedLLM
    from mcp_agent.workflows.llm.augmented_llm_openai import OpenAIAugmentedLLM

    return OpenAIAugmentedLLM


async def ask(name, instructions, tools, question, history=(), limit=None):
    member = Agent(name=name, instruction=instructions, server_names=[], functions=tools)
    async with member:
        llm = await member.attach_llm(model())
        if history:
            llm.history.set([{"role": m["role"], "content": m["content"]} for m in history])
        return await llm.generate_str(question, RequestParams(model=MODEL, max_iterations=limit or 10, parallel_tool_calls=True))


async def agent(task, tools, sub):
    if sub:
        name, description, system, functions = sub

        async def below(question: str) -> str:
            return await ask(name, system, functions, question)

        below.__name__, below.__doc__ = name, description
        tools = [*tools, below]
    async with app.run():
        return await ask("assistant", task["system"], tools, task["user"], task.get("history") or [], task.get("max_steps"))


recorder.main(agent, "mcp-agent-" + API, MODEL, lambda: trace.get_tracer_provider().force_flush(), sys.argv[2:], asynchronous=True)
