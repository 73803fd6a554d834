# Copyright The tapedeck Authors
# SPDX-License-Identifier: Apache-2.0
"""Qwen-Agent, its assistant over the API of OpenAI: INSTRUMENTATION is a family of instrument_packages.py. python qwen_agent_agent.py INSTRUMENTATION [SCENARIO ...]"""

import json
import sys

import instrument_packages
import recorder

MODEL = "qwen-plus"
flush = instrument_packages.start(sys.argv[1], "qwen_agent")

from qwen_agent.agents import FnCallAgent  # noqa: E402
from qwen_agent.tools.base import BaseTool  # noqa: E402


def tool(function, schema):
    def call(self, params, **kwargs):
        result = function(**(json.loads(params or "{}") if isinstance(params, str) else params))
        return result if isinstance(result, str) else json.dumps(result, ensure_ascii=False)

    parameters = {"type": "object", "properties": schema.get("properties", {}), "required": schema.get("required", [])}
    return type(function.__name__.title(), (BaseTool,), {"name": function.__name__, "description": function.__doc__, "parameters": parameters, "call": call})()


def ask(system, tools, messages, name):
    llm = {"model": MODEL, "model_type": "oai", "model_server": recorder.URL + "/v1", "api_key": "none", "generate_cfg": {"use_raw_api": True, "max_retries": 0}}
    made = FnCallAgent(function_list=tools, llm=llm, system_message=system, name=name, description=name)
    *_, last = made.run(messages=messages)
    said = [m for m in last if m.get("role") == "assistant" and m.get("content")]
    return said[-1]["content"] if said and last[-1] is said[-1] else None


def agent(task, tools, sub):
    schemas = {t["name"]: t["parameters"] for t in (task.get("tools") or []) + ((task.get("sub") or {}).get("tools") or [])}
    given = [tool(f, schemas[f.__name__]) for f in tools]
    if sub:
        name, description, system, functions = sub
        inner = [tool(f, schemas[f.__name__]) for f in functions]

        def below(question):
            return ask(system, inner, [{"role": "user", "content": question}], name)

        below.__name__, below.__doc__ = name, description
        given.append(tool(below, {"properties": {"question": {"type": "string"}}, "required": ["question"]}))
    return ask(task["system"], given, [*(task.get("history") or []), {"role": "user", "content": task["user"]}], "assistant")


recorder.main(agent, "qwen-agent-" + sys.argv[1], MODEL, flush, sys.argv[2:])
