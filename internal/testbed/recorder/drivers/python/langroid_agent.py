# Copyright The tapedeck Authors
# SPDX-License-Identifier: Apache-2.0
"""Langroid: INSTRUMENTATION is NAME; it talks to the model with the client of OpenAI."""

import os
import sys

import instrument_frameworks as instrument
import recorder

NAME, *SHAPE = sys.argv[1].split("-")
MODEL = "gpt-4o-mini"
flush = instrument.start(NAME, openinference=["openai:OpenAIInstrumentor"], logfire=["openai"], langfuse=["openai:OpenAIInstrumentor"])

import langroid  # noqa: E402
from langroid.agent.tools.orchestration import DoneTool  # noqa: E402,F401
from langroid.language_models import OpenAIGPTConfig  # noqa: E402
from langroid.utils.configuration import settings  # noqa: E402

settings.quiet, settings.cache = True, False
import json  # noqa: E402


def tool(function):
    """The tool as the class of a message with a handler."""
    fields = {name: p.annotation for name, p in function.__signature__.parameters.items()}

    def handle(self):
        answer = function(**{name: getattr(self, name) for name in fields if getattr(self, name) is not None})
        return answer if isinstance(answer, str) else json.dumps(answer)

    members = {"request": function.__name__, "purpose": function.__doc__, "handle": handle}
    members.update({name: None for name, p in function.__signature__.parameters.items() if p.default is None})
    members["__annotations__"] = {"request": str, "purpose": str, **fields}
    return type(function.__name__.title(), (langroid.ToolMessage,), members)


def made(name, system, functions, stream=False):
    model = OpenAIGPTConfig(chat_model=MODEL, api_base=recorder.URL + "/v1", api_key="none", stream=stream, use_cached_client=False)
    config = langroid.ChatAgentConfig(name=name, llm=model, system_message=system, use_tools=False, use_functions_api=True, use_tools_api=True)
    agent = langroid.ChatAgent(config)
    if functions:
        agent.enable_message([tool(f) for f in functions], use=True, handle=True)
    return langroid.Task(agent, interactive=False, single_round=False, restart=True, config=langroid.TaskConfig(inf_loop_cycle_len=0))


def agent(task, tools, sub):
    limit = task.get("max_steps") or 20
    if sub:
        name, description, system, functions = sub

        def ask(question: str) -> str:
            return answer(made(name, system, functions), question, 20)

        ask.__name__, ask.__doc__, ask.__signature__ = name, description, __import__("inspect").signature(ask)
        tools = [*tools, ask]
    return answer(made("assistant", task["system"], tools, bool(task.get("stream"))), task["user"], limit)


def answer(made, question, limit):
    """A turn of the model and one of its tools, until it asks for none."""
    agent, asked = made.agent, question
    for _ in range(limit):
        said = agent.llm_response(asked)
        if not agent.get_tool_messages(said):
            return said.content
        asked = agent.agent_response(said)
    raise RuntimeError("too many turns")


SKIPPED = {"history_followup"}
recorder.main(agent, "langroid-" + sys.argv[1] + os.environ.get("VERSION", ""), MODEL, flush, sys.argv[2:] or [s for s in recorder.call("/scenarios") if s not in SKIPPED])
