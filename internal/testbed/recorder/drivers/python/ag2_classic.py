# Copyright The tapedeck Authors
# SPDX-License-Identifier: Apache-2.0
"""AG2 before 1.0 (package autogen): an assistant and the proxy that runs its tools. INSTRUMENTATION is NAME."""

import os
import sys

import instrument_frameworks as instrument
import recorder

NAME, *SHAPE = sys.argv[1].split("-")
MODEL = "gpt-4o-mini"
flush = instrument.start(NAME, openinference=["autogen:AutogenInstrumentor"], mlflow="ag2", logfire=["openai"], langfuse=["openai:OpenAIInstrumentor"])

import autogen  # noqa: E402

if NAME == "openinference":
    from openinference.instrumentation.openai import OpenAIInstrumentor
    from opentelemetry import trace

    OpenAIInstrumentor().instrument(tracer_provider=trace.get_tracer_provider())


def config(stream=False):
    return {"config_list": [{"model": MODEL, "api_key": "none", "base_url": recorder.URL + "/v1", "api_type": "openai", "stream": stream}], "cache_seed": None}


def made(name, system, functions, limit=None, stream=False):
    main = autogen.AssistantAgent(name, system_message=system, llm_config=config(stream))
    user = autogen.UserProxyAgent(
        "user", human_input_mode="NEVER", code_execution_config=False, max_consecutive_auto_reply=limit or 10, is_termination_msg=lambda message: not message.get("tool_calls") and message.get("role") != "tool"
    )
    for f in functions:
        autogen.register_function(f, caller=main, executor=user, name=f.__name__, description=f.__doc__)
    return main, user


def agent(task, tools, sub):
    if sub:
        name, description, system, functions = sub

        def ask(question: str) -> str:
            inner, caller = made(name, system, functions)
            return caller.initiate_chat(inner, message=question, silent=True).summary

        ask.__name__, ask.__doc__ = name, description
        tools = [*tools, ask]
    limit = task.get("max_steps")
    main, user = made("assistant", task["system"], tools, limit, bool(task.get("stream")))
    return user.initiate_chat(main, message=task["user"], silent=True, **({"max_turns": limit} if limit else {})).summary


SKIPPED = {"history_followup"}  # a chat begins with one message
recorder.main(agent, "ag2-classic-" + sys.argv[1] + os.environ.get("VERSION", ""), MODEL, flush, sys.argv[2:] or [s for s in recorder.call("/scenarios") if s not in SKIPPED])
