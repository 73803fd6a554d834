# Copyright The tapedeck Authors
# SPDX-License-Identifier: Apache-2.0
"""LlamaIndex: python llamaindex_agent.py GROUP INSTRUMENTATION KIND API [SCENARIO ...]

KIND: function (FunctionAgent), react (ReActAgent), workflow (AgentWorkflow), each streams as LlamaIndex does by default; function-whole does not.
API: openai, responses, anthropic."""

import sys

import recorder
from instrument_graphs import setup

group, instrumentation, kind, api, *scenarios = sys.argv[1:]
flush, _ = setup(instrumentation, "llamaindex")
from llama_index.core import set_global_tokenizer  # noqa: E402
from llama_index.core.agent.workflow import AgentWorkflow, FunctionAgent, ReActAgent  # noqa: E402
from llama_index.core.llms import ChatMessage  # noqa: E402
from llama_index.core.tools import FunctionTool  # noqa: E402

set_global_tokenizer(str.split)  # that of older versions asks the network for its tables
kind, _, whole = kind.partition("-")
MODELS = {"openai": "gpt-4o-mini", "responses": "gpt-5-mini", "anthropic": "claude-sonnet-4-5"}


def model():
    if api == "anthropic":
        from llama_index.llms.anthropic import Anthropic

        class Local(Anthropic):
            """Its tokenizer asks the provider."""

            @property
            def tokenizer(self):
                return None

        return Local(model=MODELS[api], base_url=recorder.URL, api_key="sk-local", max_retries=0, max_tokens=1024)
    from llama_index.llms.openai import OpenAI, OpenAIResponses

    return (OpenAIResponses if api == "responses" else OpenAI)(model=MODELS[api], api_base=recorder.URL + "/v1", api_key="sk-local", max_retries=0)


def build(name, description, system, tools):
    kinds = {"react": ReActAgent}
    return kinds.get(kind, FunctionAgent)(name=name, description=description, system_prompt=system, tools=tools, llm=model(), streaming=not whole)


async def agent(task, functions, sub):
    tools = [FunctionTool.from_defaults(async_fn=f) for f in functions]
    if sub:
        inner = build(sub[0], sub[1], sub[2], [FunctionTool.from_defaults(async_fn=f) for f in sub[3]])

        async def ask(question: str) -> str:
            return str(await inner.run(question))

        tools.append(FunctionTool.from_defaults(async_fn=ask, name=sub[0], description=sub[1]))
    made = build("assistant", "Answers questions.", task["system"], tools)
    if kind == "workflow":
        made = AgentWorkflow(agents=[made], root_agent="assistant")
    more = {"max_iterations": task["max_steps"]} if task["max_steps"] else {}
    history = [ChatMessage(role=m["role"], content=m["content"]) for m in task["history"]]
    return str(await made.run(user_msg=task["user"], chat_history=history or None, **more))


recorder.main(agent, group, MODELS[api], flush, scenarios or None, asynchronous=True)
