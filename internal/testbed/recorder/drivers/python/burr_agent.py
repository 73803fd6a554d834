# Copyright The tapedeck Authors
# SPDX-License-Identifier: Apache-2.0
"""Burr, a graph of actions around OpenAI's client: INSTRUMENTATION is of that client, Burr's bridge writes a span for each action. python burr_agent.py INSTRUMENTATION [SCENARIO ...]"""

import json
import sys

import instrument_frameworks as instrument
import recorder

MODEL = "gpt-4o-mini"
flush = instrument.start(sys.argv[1], openinference=["openai:OpenAIInstrumentor"], openai=[])

import openai  # noqa: E402
from burr.core import ApplicationBuilder, State, action, when  # noqa: E402
from burr.integrations.opentelemetry import OpenTelemetryBridge  # noqa: E402
from burr.visibility import trace  # noqa: E402


def build(system, tools, schemas, question, history=(), limit=None):
    client = openai.OpenAI(base_url=recorder.URL + "/v1", api_key="none", max_retries=0)
    functions = {f.__name__: f for f in tools}
    offered = [{"type": "function", "function": schemas[f.__name__]} for f in tools]

    @action(reads=[], writes=["messages", "steps", "question"])
    def prompt(state: State, user_input: str) -> State:
        messages = [{"role": "system", "content": system}, *history, {"role": "user", "content": user_input}]
        return state.update(messages=messages, steps=0, question=user_input)

    @action(reads=["messages", "steps"], writes=["messages", "steps", "pending", "answer"])
    def ask_model(state: State) -> State:
        said = client.chat.completions.create(model=MODEL, messages=state["messages"], **({"tools": offered} if offered else {})).choices[0].message
        return state.update(messages=[*state["messages"], said.model_dump(exclude_none=True)], steps=state["steps"] + 1, pending=bool(said.tool_calls), answer=said.content)

    @action(reads=["messages"], writes=["messages"])
    def call_tools(state: State) -> State:
        messages = list(state["messages"])
        for call in messages[-1]["tool_calls"]:
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": run(call["function"]["name"], call["function"]["arguments"])})
        return state.update(messages=messages)

    @trace()
    def call_tool(name: str, arguments: dict):
        if name not in functions:
            return f"There is no tool {name}."
        result = functions[name](**arguments)
        return result if isinstance(result, str) else json.dumps(result, ensure_ascii=False)

    def run(name, arguments):
        try:
            return call_tool(name, json.loads(arguments))
        except recorder.ToolError as e:
            return f"Error: {e}"

    @action(reads=["answer"], writes=["answer"])
    def respond(state: State) -> State:
        return state.update(answer=state["answer"])

    @action(reads=[], writes=["answer"])
    def stop(state: State) -> State:
        return state.update(answer=None)

    from burr.core import Condition

    full = Condition.lmda(lambda state: bool(limit) and state["steps"] >= limit and state["pending"], ["steps", "pending"])
    made = (
        ApplicationBuilder().with_actions(prompt, ask_model, call_tools, respond, stop)
        .with_transitions(("prompt", "ask_model"), ("ask_model", "stop", full), ("ask_model", "call_tools", when(pending=True)), ("ask_model", "respond"), ("call_tools", "ask_model"))
        .with_entrypoint("prompt").with_hooks(OpenTelemetryBridge(tracer_name="burr")).build()
    )
    *_, state = made.run(halt_after=["respond", "stop"], inputs={"user_input": question})
    return state["answer"]


def agent(task, tools, sub):
    schemas = {t["name"]: {k: t[k] for k in ("name", "description", "parameters")} for t in (task.get("tools") or []) + ((task.get("sub") or {}).get("tools") or [])}
    if sub:
        name, description, system, functions = sub

        def below(question: str):
            return build(system, functions, schemas, question)

        below.__name__ = name
        schemas[name] = {"name": name, "description": description, "parameters": {"type": "object", "properties": {"question": {"type": "string"}}, "required": ["question"]}}
        tools = [*tools, below]
    return build(task["system"], tools, schemas, task["user"], task.get("history") or [], task.get("max_steps"))


recorder.main(agent, "burr-" + sys.argv[1], MODEL, flush, sys.argv[2:])
