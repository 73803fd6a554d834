# Copyright The tapedeck Authors
# SPDX-License-Identifier: Apache-2.0
"""NVIDIA NeMo Agent Toolkit, its tool-calling agent with the exporter of its OpenTelemetry package. python nat_agent.py [SCENARIO ...]"""

import asyncio
import json
import logging
import sys

import instrument_frameworks  # noqa: F401: the environment
import recorder
from nat.builder.builder import Builder
from nat.builder.function_info import FunctionInfo
from nat.builder.workflow_builder import WorkflowBuilder
from nat.cli.register_workflow import register_function
from nat.data_models.config import Config
from nat.data_models.function import FunctionBaseConfig
from nat.runtime.loader import PluginTypes, discover_and_register_plugins
from nat.runtime.session import SessionManager
from pydantic import create_model

logging.disable(logging.INFO)
discover_and_register_plugins(PluginTypes.ALL)
MODEL = "gpt-4o-mini"
TOOLS = {}


class Scripted(FunctionBaseConfig, name="scripted"):
    tool: str


@register_function(config_type=Scripted)
async def scripted(config: Scripted, builder: Builder):
    function, schema = TOOLS[config.tool]
    fields = {name: (recorder.TYPES.get(kind.get("type"), str), ...) if name in schema.get("required", []) else (recorder.TYPES.get(kind.get("type"), str) | None, None)
              for name, kind in schema.get("properties", {}).items()}
    taken = create_model(config.tool + "_input", **fields)

    async def run(asked) -> str:
        result = await function(**asked.model_dump(exclude_unset=True))
        return result if isinstance(result, str) else json.dumps(result, ensure_ascii=False)

    run.__annotations__["asked"] = taken
    yield FunctionInfo.from_fn(run, description=function.__doc__, input_schema=taken)


async def ask(system, tools, question, limit=None, exported=True):
    exporters = {"otel": {"_type": "otelcollector", "project": "agent", "endpoint": recorder.URL + "/v1/traces", "batch_size": 1, "flush_interval": 0.2}} if exported else {}
    config = Config.model_validate({
        "general": {"telemetry": {"tracing": exporters}},
        "llms": {"model": {"_type": "openai", "model_name": MODEL, "base_url": recorder.URL + "/v1", "api_key": "none", "max_retries": 1}},
        "functions": {t: {"_type": "scripted", "tool": t} for t in tools},
        "workflow": {"_type": "tool_calling_agent", "llm_name": "model", "tool_names": tools, "system_prompt": system, "max_iterations": limit or 15, "handle_tool_errors": True},
    })
    async with WorkflowBuilder.from_config(config=config) as builder:
        manager = await SessionManager.create(config=config, shared_builder=builder)
        async with manager.run(question) as runner:
            answer = await runner.result(to_type=str)
        await asyncio.sleep(3)  # the exporter sends what it holds when its tasks come to it
        await manager.shutdown()
    return answer


async def agent(task, tools, sub):
    schemas = {t["name"]: t["parameters"] for t in (task.get("tools") or []) + ((task.get("sub") or {}).get("tools") or [])}
    TOOLS.clear()
    TOOLS.update({f.__name__: (f, schemas[f.__name__]) for f in [*tools, *(sub[3] if sub else [])]})
    names = [f.__name__ for f in tools]
    if sub:
        name, description, system, functions = sub

        async def below(question: str):
            return await ask(system, [f.__name__ for f in functions], question, exported=False)

        below.__name__, below.__doc__ = name, description
        TOOLS[name] = (below, {"properties": {"question": {"type": "string"}}, "required": ["question"]})
        names.append(name)
    return await ask(task["system"], names, task["user"], task.get("max_steps"))


SCENARIOS = [s for s in recorder.call("/scenarios") if s != "history_followup"]
recorder.main(agent, "nat-own", MODEL, lambda: None, sys.argv[1:] or SCENARIOS, asynchronous=True)
