# Copyright The tapedeck Authors
# SPDX-License-Identifier: Apache-2.0
from langchain.agents import create_agent
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from openinference.instrumentation.langchain import LangChainInstrumentor

from common import BASE_URL, MODEL, QUESTIONS, SYSTEM, done, get_stock, provider

LangChainInstrumentor().instrument(tracer_provider=provider)
clerk = create_agent(ChatOpenAI(model=MODEL, base_url=BASE_URL, api_key="none"), [tool(get_stock)], system_prompt=SYSTEM, checkpointer=InMemorySaver(), name="clerk")
answers = []
for question in QUESTIONS:
    state = clerk.invoke({"messages": [{"role": "user", "content": question}]}, {"configurable": {"thread_id": "t1"}})
    answers.append(state["messages"][-1].content)
done(answers)
