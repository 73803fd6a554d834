# Copyright The tapedeck Authors
# SPDX-License-Identifier: Apache-2.0
"""CAMEL's ChatAgent, whose model is the SDK of OpenAI: python camel_agent.py GROUP INSTRUMENTATION [SCENARIO ...], with the instrumentations of that SDK."""

import gc
import os
import sys

import instrument_sdk
import recorder

group, instrumentation, *scenarios = sys.argv[1:]
MODEL = "gpt-4o-mini"
kit = getattr(instrument_sdk, instrumentation)("openai")
os.environ["OPENAI_API_KEY"] = "none"

import tiktoken  # noqa: E402

tiktoken.get_encoding = tiktoken.encoding_for_model = lambda name: type("Words", (), {"encode": lambda self, text, **more: text.split()})()  # else it asks the network for tables

from camel.agents import ChatAgent  # noqa: E402
from camel.messages import BaseMessage  # noqa: E402
from camel.models import ModelFactory  # noqa: E402
from camel.toolkits import FunctionTool  # noqa: E402
from camel.types import ModelPlatformType, OpenAIBackendRole  # noqa: E402


def made(system, tools, limit=None, stream=False):
    model = ModelFactory.create(ModelPlatformType.OPENAI, model_type=MODEL, url=recorder.URL + "/v1", api_key="none", max_retries=0, model_config_dict={"stream": stream})
    more = {"max_iteration": limit} if limit else {}
    return ChatAgent(system, model=model, tools=[FunctionTool(t) if callable(t) else t for t in tools], retry_attempts=1, **more)


def answered(response):
    if not hasattr(response, "msgs"):
        *_, response = response
    return response.msgs[-1].content


def agent(task, tools, sub):
    if sub:
        name, description, system, functions = sub

        def ask(question: str) -> str:
            return answered(made(system, functions).step(question))

        ask.__name__, ask.__doc__ = name, description
        tools = [*tools, ask]
    main = made(task["system"], tools, task.get("max_steps"), bool(task.get("stream")))
    for m in task.get("history") or []:
        make, role = (BaseMessage.make_user_message, OpenAIBackendRole.USER) if m["role"] == "user" else (BaseMessage.make_assistant_message, OpenAIBackendRole.ASSISTANT)
        main.update_memory(make(role_name=m["role"], content=m["content"]), role)
    answer = kit.root(lambda asked: answered(main.step(asked)))(task["user"])
    gc.collect()  # what was left of a stream ends its span in this run
    return answer


recorder.main(agent, group, MODEL, kit.flush, scenarios or None)
