# Copyright The tapedeck Authors
# SPDX-License-Identifier: Apache-2.0
"""PraisonAI: INSTRUMENTATION is NAME; it talks to the model with the client of OpenAI."""

import os
import sys

import instrument_frameworks as instrument
import recorder

NAME, *SHAPE = sys.argv[1].split("-")
MODEL = "gpt-4o-mini"
flush = instrument.start(NAME, openinference=["openai:OpenAIInstrumentor"], logfire=["openai"], langfuse=["openai:OpenAIInstrumentor"])

from praisonaiagents import Agent  # noqa: E402


def made(name, system, functions):
    return Agent(name=name, instructions=system, tools=functions, llm=MODEL, base_url=recorder.URL + "/v1", api_key="none", output="silent")


def agent(task, tools, sub):
    if sub:
        name, description, system, functions = sub

        def ask(question: str) -> str:
            return made(name, system, functions).start(question)

        ask.__name__, ask.__doc__ = name, description
        tools = [*tools, ask]
    return made("assistant", task["system"], tools).start(task["user"])


SKIPPED = {"history_followup", "step_limit"}  # it is given no messages of others, and no limit
recorder.main(agent, "praisonai-" + sys.argv[1] + os.environ.get("VERSION", ""), MODEL, flush, sys.argv[2:] or [s for s in recorder.call("/scenarios") if s not in SKIPPED])
