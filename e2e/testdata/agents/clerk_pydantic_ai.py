# Copyright The tapedeck Authors
# SPDX-License-Identifier: Apache-2.0
import functools

from pydantic_ai import Agent, ModelRetry
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

from common import BASE_URL, FAILS_ONCE, MODEL, QUESTIONS, SYSTEM, done, get_stock


@functools.wraps(get_stock)
def told(sku: str) -> str:
    try:
        return get_stock(sku)
    except LookupError as err:
        raise ModelRetry(str(err)) from err


FAILS_ONCE["SKU-5"] = lambda sku: ModelRetry(f"no answer about {sku}")
Agent.instrument_all()
model = OpenAIChatModel(MODEL, provider=OpenAIProvider(base_url=BASE_URL, api_key="none"))
clerk = Agent(model, name="clerk", instructions=SYSTEM, tools=[told])
answers, history = [], None
for question in QUESTIONS:
    result = clerk.run_sync(question, message_history=history)
    history = result.all_messages()
    answers.append(result.output)
done(answers)
