# Copyright The tapedeck Authors
# SPDX-License-Identifier: Apache-2.0
from langchain.agents import create_agent
from langchain.agents.middleware import wrap_tool_call
from langchain_core.messages import ToolMessage
from langchain_core.tools import ToolException, tool
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from openinference.instrumentation.langchain import LangChainInstrumentor

from common import BASE_URL, FAILS_ONCE, MODEL, QUESTIONS, SYSTEM, done, get_stock, provider


@wrap_tool_call
def told(request, handler):
    try:
        return handler(request)
    except LookupError as err:
        return ToolMessage("Error: " + str(err), tool_call_id=request.tool_call["id"], name=request.tool_call["name"], status="error")


LangChainInstrumentor().instrument(tracer_provider=provider)
model = ChatOpenAI(model=MODEL, base_url=BASE_URL, api_key="none")
FAILS_ONCE["SKU-5"] = lambda sku: ToolException(f"no answer about {sku}")
stock = tool(get_stock)
stock.handle_tool_error = True
clerk = create_agent(model, [stock], system_prompt=SYSTEM, middleware=[told], checkpointer=InMemorySaver(), name="clerk")
answers = []
for question in QUESTIONS:
    state = clerk.invoke({"messages": [{"role": "user", "content": question}]}, {"configurable": {"thread_id": "t1"}})
    answers.append(state["messages"][-1].content)
done(answers)
