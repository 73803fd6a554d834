# Copyright The tapedeck Authors
# SPDX-License-Identifier: Apache-2.0
from strands import Agent, tool
from strands.models.openai import OpenAIModel

from common import BASE_URL, MODEL, QUESTIONS, SYSTEM, done, get_stock

model = OpenAIModel(client_args={"base_url": BASE_URL, "api_key": "none"}, model_id=MODEL)
clerk = Agent(model=model, name="clerk", system_prompt=SYSTEM, tools=[tool(get_stock)], callback_handler=None)
done([clerk(question).message["content"][0]["text"] for question in QUESTIONS])
