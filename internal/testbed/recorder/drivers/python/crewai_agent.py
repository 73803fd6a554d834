# Copyright The tapedeck Authors
# SPDX-License-Identifier: Apache-2.0
"""CrewAI, a crew of one agent: INSTRUMENTATION is NAME."""

import os
import sys

import instrument_frameworks as instrument
import recorder

NAME, *SHAPE = sys.argv[1].split("-")
MODEL = "gpt-4o-mini"
flush = instrument.start(
    NAME, openinference=["crewai:CrewAIInstrumentor", "openai:OpenAIInstrumentor"], langfuse=["crewai:CrewAIInstrumentor", "openai:OpenAIInstrumentor"], mlflow="crewai", logfire=["openai"]
)

from crewai import LLM, Agent, Crew, Task  # noqa: E402
from crewai.tools import tool  # noqa: E402


def made(name, system, functions, limit=None, stream=False):
    llm = LLM(model=MODEL, api_key="none", base_url=recorder.URL + "/v1", stream=stream)
    given = [tool(f.__name__)(f) for f in functions]
    return Agent(role=name, goal="Answer the user.", backstory=system, tools=given, llm=llm, max_iter=limit or 20, verbose=False, max_retry_limit=0, cache=False)


def kickoff(member, asked):
    task = Task(description=asked, expected_output="The answer.", agent=member)
    return str(Crew(agents=[member], tasks=[task], verbose=False, cache=False).kickoff())


def agent(task, tools, sub):
    if sub:
        name, description, system, functions = sub
        inner = made(name, system, functions)

        def ask(question: str) -> str:
            return kickoff(inner, question)

        ask.__name__, ask.__doc__ = name, description
        tools = [*tools, ask]
    return kickoff(made("assistant", task["system"], tools, task.get("max_steps"), bool(task.get("stream"))), task["user"])


SKIPPED = {"history_followup"}  # a task is no conversation
recorder.main(agent, "crewai-" + sys.argv[1] + os.environ.get("VERSION", ""), MODEL, flush, sys.argv[2:] or [s for s in recorder.call("/scenarios") if s not in SKIPPED])
