# Copyright The tapedeck Authors
# SPDX-License-Identifier: Apache-2.0
"""Semantic Kernel, ChatCompletionAgent: INSTRUMENTATION is NAME."""

import os
import sys

os.environ["SEMANTICKERNEL_EXPERIMENTAL_GENAI_ENABLE_OTEL_DIAGNOSTICS_SENSITIVE"] = "true"
import instrument_frameworks as instrument  # noqa: E402
import recorder  # noqa: E402

NAME, *SHAPE = sys.argv[1].split("-")
MODEL = "gpt-4o-mini"
flush = instrument.start(NAME, openinference=["openai:OpenAIInstrumentor"], mlflow="semantic_kernel", logfire=["openai"])

import logging  # noqa: E402

from semantic_kernel.agents import ChatCompletionAgent, ChatHistoryAgentThread  # noqa: E402
from semantic_kernel.connectors.ai import FunctionChoiceBehavior  # noqa: E402
from semantic_kernel.connectors.ai.open_ai import OpenAIChatCompletion  # noqa: E402
from semantic_kernel.contents import ChatHistory  # noqa: E402
from semantic_kernel.functions import kernel_function  # noqa: E402

if NAME == "own":
    from opentelemetry.sdk._logs import LoggingHandler

    logging.getLogger("semantic_kernel").addHandler(LoggingHandler())
    logging.getLogger("semantic_kernel").setLevel(logging.INFO)


def made(name, system, functions, limit=None):
    plugins = []
    if functions:
        plugins = [type("Tools", (), {f.__name__: staticmethod(kernel_function(f, name=f.__name__, description=f.__doc__)) for f in functions})()]
    service = OpenAIChatCompletion(ai_model_id=MODEL, api_key="none")
    choice = FunctionChoiceBehavior.Auto(maximum_auto_invoke_attempts=limit or 10)
    return ChatCompletionAgent(service=service, name=name, instructions=system, plugins=plugins, function_choice_behavior=choice)


async def agent(task, tools, sub):
    if sub:
        name, description, system, functions = sub
        inner = made(name, system, functions)

        async def ask(question: str) -> str:
            return str((await inner.get_response(messages=question)).message)

        ask.__name__, ask.__doc__ = name, description
        tools = [*tools, ask]
    history = ChatHistory()
    for m in task.get("history") or []:
        history.add_user_message(m["content"]) if m["role"] == "user" else history.add_assistant_message(m["content"])
    main, thread = made("assistant", task["system"], tools, task.get("max_steps")), ChatHistoryAgentThread(history)
    if task.get("stream"):
        said = ""
        async for piece in main.invoke_stream(messages=task["user"], thread=thread):
            said += str(piece.message)
        return said
    return str((await main.get_response(messages=task["user"], thread=thread)).message)


recorder.main(agent, "semantic-kernel-" + sys.argv[1] + os.environ.get("VERSION", ""), MODEL, flush, sys.argv[2:], asynchronous=True)
