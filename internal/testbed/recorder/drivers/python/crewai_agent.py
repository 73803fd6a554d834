# Copyright The tapedeck Authors
# SPDX-License-Identifier: Apache-2.0
"""CrewAI, a crew of one agent: INSTRUMENTATION is NAME[-anthropic][-lite|-flow], -lite the agent without a crew, -flow a flow that starts the crew."""

import os
import sys

import instrument_frameworks as instrument
import recorder

NAME, *SHAPE = sys.argv[1].split("-")
MODEL = "anthropic/claude-sonnet-4-5" if "anthropic" in SHAPE else "gpt-4o-mini"
CLIENT = ["anthropic:AnthropicInstrumentor" if "anthropic" in SHAPE else "openai:OpenAIInstrumentor"] if "bare" not in SHAPE else []
flush = instrument.start(
    NAME, family="crewai", openinference=["crewai:CrewAIInstrumentor", *CLIENT], langfuse=["crewai:CrewAIInstrumentor", *CLIENT], mlflow="crewai", logfire=["openai"]
)

from crewai import LLM, Agent, Crew, Task  # noqa: E402
from crewai.tools import tool  # noqa: E402


def made(name, system, functions, limit=None, stream=False):
    more = {"client_params": {"base_url": recorder.URL, "max_retries": 0}, "max_tokens": 1024} if "anthropic" in SHAPE else {"base_url": recorder.URL + "/v1"}
    llm = LLM(model=MODEL, api_key="none", stream=stream, **more)
    given = [tool(f.__name__)(f) for f in functions]
    return Agent(role=name, goal="Answer the user.", backstory=system, tools=given, llm=llm, max_iter=limit or 20, verbose=False, max_retry_limit=0, cache=False)


def kickoff(member, asked):
    if "lite" in SHAPE:
        return member.kickoff(asked).raw
    if "flow" in SHAPE:
        from crewai.flow.flow import Flow, start

        class Support(Flow):
            @start()
            def answer(self):
                return crew(member, asked)

        return str(Support().kickoff())
    return crew(member, asked)


def crew(member, asked):
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
recorder.main(agent, "crewai-" + sys.argv[1] + os.environ.get("VERSION", ""), MODEL.split("/")[-1], flush, sys.argv[2:] or [s for s in recorder.call("/scenarios") if s not in SKIPPED])
