# Copyright The tapedeck Authors
# SPDX-License-Identifier: Apache-2.0
"""agno: python agno_agent.py GROUP INSTRUMENTATION WAY API [SCENARIO ...]

WAY: whole, stream (every run is streamed), async, each runs with run or arun. API: openai, responses, anthropic, gemini."""

import inspect
import sys

import recorder
from instrument_graphs import setup

group, instrumentation, way, api, *scenarios = sys.argv[1:]
flush, _ = setup(instrumentation, "agno")
from agno.agent import Agent  # noqa: E402
from agno.models.message import Message  # noqa: E402
from agno.tools.function import Function  # noqa: E402

URL, KEY = recorder.URL, "sk-local"
EVENTS = "stream_events" if "stream_events" in inspect.signature(Agent.run).parameters else "stream_intermediate_steps"  # agno 1
MODELS = {"openai": "gpt-4o-mini", "responses": "gpt-5-mini", "anthropic": "claude-sonnet-4-5", "gemini": "gemini-2.5-flash"}


def model():
    if api == "anthropic":
        from agno.models.anthropic import Claude

        return Claude(id=MODELS[api], api_key=KEY, client_params={"base_url": URL, "max_retries": 0})
    if api == "gemini":
        from agno.models.google import Gemini

        return Gemini(id=MODELS[api], api_key=KEY, client_params={"http_options": {"base_url": URL}})
    from agno.models.openai import OpenAIChat, OpenAIResponses

    return (OpenAIResponses if api == "responses" else OpenAIChat)(id=MODELS[api], base_url=URL + "/v1", api_key=KEY, max_retries=0)


def agent(task, functions, sub):
    tools = [Function.from_callable(f) for f in functions]
    if sub:
        inner = Agent(name=sub[0], model=model(), instructions=sub[2], tools=[Function.from_callable(f) for f in sub[3]], telemetry=False)

        def billing_agent(question: str) -> str:
            return inner.run(question).content

        async def billing_agent_later(question: str) -> str:
            return (await inner.arun(question)).content

        ask = billing_agent_later if way == "async" else billing_agent
        ask.__name__, ask.__doc__ = sub[0], sub[1]
        tools.append(Function.from_callable(ask))
    limit = {"tool_call_limit": task["max_steps"]} if task["max_steps"] else {}
    made = Agent(name="assistant", model=model(), instructions=task["system"], tools=tools, telemetry=False, **limit)
    question = [Message(role=m["role"], content=m["content"]) for m in task["history"]]
    question = question + [Message(role="user", content=task["user"])] if question else task["user"]
    if isinstance(question, list) and "messages" in inspect.signature(Agent.run).parameters:  # agno 1
        made.run, made.arun = (lambda asked, run=run, **more: run(messages=asked, **more) for run in (made.run, made.arun))
    if way == "async":
        return later(made, question)
    if way == "whole" and not task["stream"]:
        answer = made.run(question)
        if str(getattr(answer.status, "value", "")).upper() == "ERROR":
            raise RuntimeError(answer.content)
        return answer.content
    answer = None
    for event in made.run(question, stream=True, **{EVENTS: True}):
        if event.event == "RunError":
            raise RuntimeError(event.content)
        if event.event == "RunCompleted":
            answer = event.content
    return answer


async def later(made, question):
    answer = await made.arun(question)
    if str(getattr(answer.status, "value", "")).upper() == "ERROR":
        raise RuntimeError(answer.content)
    return answer.content


recorder.main(agent, group, MODELS[api], flush, scenarios or None, way == "async")
