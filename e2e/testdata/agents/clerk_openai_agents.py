# Copyright The tapedeck Authors
# SPDX-License-Identifier: Apache-2.0
import asyncio

from agents import Agent, OpenAIChatCompletionsModel, Runner, function_tool, set_trace_processors
from openai import AsyncOpenAI
from openinference.instrumentation.openai_agents import OpenAIAgentsInstrumentor

from common import BASE_URL, MODEL, QUESTIONS, SYSTEM, done, get_stock, provider

set_trace_processors([])
OpenAIAgentsInstrumentor().instrument(tracer_provider=provider)
model = OpenAIChatCompletionsModel(model=MODEL, openai_client=AsyncOpenAI(base_url=BASE_URL, api_key="none"))
clerk = Agent(name="clerk", instructions=SYSTEM, tools=[function_tool(get_stock)], model=model)


async def main():
    answers, history = [], []
    for question in QUESTIONS:
        result = await Runner.run(clerk, history + [{"role": "user", "content": question}])
        history = result.to_input_list()
        answers.append(result.final_output)
    done(answers)


asyncio.run(main())
