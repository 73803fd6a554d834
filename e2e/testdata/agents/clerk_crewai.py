# Copyright The tapedeck Authors
# SPDX-License-Identifier: Apache-2.0
import os

os.environ["CREWAI_DISABLE_TELEMETRY"] = "true"  # it reports to its makers otherwise
os.environ["CREWAI_TRACING_ENABLED"] = "false"

from crewai import LLM, Agent
from crewai.tools import tool
from openinference.instrumentation.crewai import CrewAIInstrumentor
from openinference.instrumentation.openai import OpenAIInstrumentor

from common import BASE_URL, MODEL, QUESTIONS, SYSTEM, done, get_stock, provider

CrewAIInstrumentor().instrument(tracer_provider=provider)
OpenAIInstrumentor().instrument(tracer_provider=provider)
clerk = Agent(role="clerk", goal="answer", backstory=SYSTEM, tools=[tool("get_stock")(get_stock)], llm=LLM(model=MODEL, base_url=BASE_URL, api_key="none"))
answers, history = [], []
for question in QUESTIONS:
    history.append({"role": "user", "content": question})
    answers.append(clerk.kickoff(history).raw)
    history.append({"role": "assistant", "content": answers[-1]})
done(answers)
