# Copyright The tapedeck Authors
# SPDX-License-Identifier: Apache-2.0
from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

from common import BASE_URL, MODEL, QUESTIONS, SYSTEM, done, get_stock

Agent.instrument_all()
model = OpenAIChatModel(MODEL, provider=OpenAIProvider(base_url=BASE_URL, api_key="none"))
clerk = Agent(model, name="clerk", instructions=SYSTEM, tools=[get_stock])
answers, history = [], None
for question in QUESTIONS:
    result = clerk.run_sync(question, message_history=history)
    history = result.all_messages()
    answers.append(result.output)
done(answers)
