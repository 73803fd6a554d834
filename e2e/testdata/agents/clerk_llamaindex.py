# Copyright The tapedeck Authors
# SPDX-License-Identifier: Apache-2.0
import asyncio

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.memory import ChatMemoryBuffer
from llama_index.core.tools import FunctionTool
from llama_index.llms.openai_like import OpenAILike
from openinference.instrumentation.llama_index import LlamaIndexInstrumentor

from common import BASE_URL, MODEL, QUESTIONS, SYSTEM, done, get_stock, provider

LlamaIndexInstrumentor().instrument(tracer_provider=provider)
llm = OpenAILike(model=MODEL, api_base=BASE_URL, api_key="none", is_chat_model=True, is_function_calling_model=True)
clerk = FunctionAgent(name="clerk", system_prompt=SYSTEM, tools=[FunctionTool.from_defaults(get_stock)], llm=llm, streaming=False)


async def main():
    answers, memory = [], ChatMemoryBuffer.from_defaults()
    for question in QUESTIONS:
        answers.append(str(await clerk.run(question, memory=memory)))
    done(answers)


asyncio.run(main())
