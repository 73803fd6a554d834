# Copyright The tapedeck Authors
# SPDX-License-Identifier: Apache-2.0
"""LangChain and LangGraph: python langchain_agent.py GROUP INSTRUMENTATION KIND API [SCENARIO ...]

KIND: agent (LangChain 1), handled (with the middleware that tells the model of failures), react (langgraph.prebuilt), graph (a StateGraph by hand), executor (LangChain 0.3), deep (deepagents), memory (LangChain 1 with a
checkpointer that holds what was said before), loop (the model and its tools, called by hand), each also with -async, -tokens (streamed token by token) and -events (astream_events).
API: openai, responses, anthropic, gemini."""

import sys

import recorder
from instrument_graphs import setup

group, instrumentation, kind, api, *scenarios = sys.argv[1:]
flush, handler = setup(instrumentation, "langchain")
kind, _, way = kind.partition("-")
URL, KEY = recorder.URL, "sk-local"
MODELS = {"openai": "gpt-4o-mini", "responses": "gpt-5-mini", "anthropic": "claude-sonnet-4-5", "gemini": "gemini-2.5-flash"}


def model(stream):
    if api == "anthropic":
        from langchain_anthropic import ChatAnthropic

        return ChatAnthropic(model=MODELS[api], base_url=URL, api_key=KEY, max_tokens=1024, max_retries=0, streaming=stream)
    if api == "gemini":
        from langchain_google_genai import ChatGoogleGenerativeAI

        return ChatGoogleGenerativeAI(model=MODELS[api], google_api_key=KEY, transport="rest", base_url=URL, max_retries=1)
    from langchain_openai import ChatOpenAI

    more = {"use_responses_api": True} if api == "responses" else {}
    return ChatOpenAI(model=MODELS[api], base_url=URL + "/v1", api_key=KEY, max_retries=0, streaming=stream, **more)


def graph(llm, system, tools):
    from langchain_core.messages import SystemMessage
    from langgraph.graph import START, MessagesState, StateGraph
    from langgraph.prebuilt import ToolNode, tools_condition

    bound = llm.bind_tools(tools) if tools else llm
    built = StateGraph(MessagesState)
    built.add_node("assistant", lambda state: {"messages": [bound.invoke([SystemMessage(system)] + state["messages"])]})
    built.add_node("tools", ToolNode(tools, handle_tool_errors=True))
    built.add_edge(START, "assistant")
    built.add_conditional_edges("assistant", tools_condition)
    built.add_edge("tools", "assistant")
    return built.compile()


def executor(llm, system, tools):
    from langchain.agents import AgentExecutor, create_tool_calling_agent
    from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder

    prompt = ChatPromptTemplate.from_messages([("system", "{system}"), MessagesPlaceholder("messages"), MessagesPlaceholder("agent_scratchpad")])
    return AgentExecutor(agent=create_tool_calling_agent(llm, tools, prompt.partial(system=system)), tools=tools, max_iterations=10)


class Loop:
    """What a program does that needs no graph."""

    def __init__(self, llm, system, tools):
        self.llm, self.system, self.tools = llm.bind_tools(tools) if tools else llm, system, {t.name: t for t in tools}

    def invoke(self, state, config=None):
        from langchain_core.messages import SystemMessage, ToolMessage, convert_to_messages

        config = dict(config or {})
        limit = config.pop("recursion_limit", 40) // 2
        messages = [SystemMessage(self.system), *convert_to_messages(state["messages"])]
        for _ in range(limit):
            said = self.llm.invoke(messages, config)
            messages.append(said)
            if not said.tool_calls:
                return {"messages": messages}
            for call in said.tool_calls:
                if call["name"] not in self.tools:
                    messages.append(ToolMessage(f"There is no tool {call['name']}.", tool_call_id=call["id"], status="error"))
                    continue
                try:
                    messages.append(self.tools[call["name"]].invoke(call, config))
                except recorder.ToolError as e:
                    messages.append(ToolMessage(f"Error: {e}", tool_call_id=call["id"], status="error"))
        raise RuntimeError("too many steps")

    def stream(self, state, config=None, stream_mode=None):
        yield self.invoke(state, config)


def build(llm, system, tools, name):
    if kind == "loop":
        return Loop(llm, system, tools)
    if kind == "memory":
        from langchain.agents import create_agent
        from langgraph.checkpoint.memory import InMemorySaver

        return create_agent(llm, tools, system_prompt=system, name=name, middleware=[told()], checkpointer=InMemorySaver() if name == "assistant" else None)
    if kind == "graph":
        return graph(llm, system, tools)
    if kind == "executor":
        return executor(llm, system, tools)
    if kind == "react":
        from langgraph.prebuilt import create_react_agent

        return create_react_agent(llm, tools, prompt=system, name=name)
    if kind == "deep":
        from deepagents import create_deep_agent

        return create_deep_agent(model=llm, tools=tools, system_prompt=system)
    from langchain.agents import create_agent

    return create_agent(llm, tools, system_prompt=system, name=name, middleware=[told()] if kind == "handled" else [])


def told():
    from langchain.agents.middleware import wrap_tool_call
    from langchain_core.messages import ToolMessage

    def failure(request, e):
        return ToolMessage(content=f"Tool error: Please check your input and try again. ({e})", tool_call_id=request.tool_call["id"])

    def handle_tool_errors(request, handle):
        try:
            return handle(request)
        except Exception as e:
            return failure(request, e)

    async def handle_tool_errors_later(request, handle):
        try:
            return await handle(request)
        except Exception as e:
            return failure(request, e)

    return wrap_tool_call(handle_tool_errors_later if way in ("async", "events") else handle_tool_errors)


def text(message):
    content = message.text if isinstance(getattr(message, "text", None), str) else message.content
    return content if isinstance(content, str) else "".join(b.get("text", "") for b in content if isinstance(b, dict))


def said(state):
    if kind != "executor":
        return text(state["messages"][-1])
    output = state["output"]
    return output if isinstance(output, str) else "".join(b.get("text", "") for b in output)


def agent(task, functions, sub):
    from langchain_core.tools import StructuredTool

    def offered(function):
        return StructuredTool.from_function(coroutine=function) if way in ("async", "events") else StructuredTool.from_function(function)

    tools = [offered(f) for f in functions]
    if sub:
        inner = build(model(False), sub[2], [offered(f) for f in sub[3]], sub[0])

        def ask(question: str) -> str:
            return said(inner.invoke({"messages": [("user", question)]}))

        async def ask_later(question: str) -> str:
            return said(await inner.ainvoke({"messages": [("user", question)]}))

        tools.append(StructuredTool.from_function(ask, ask_later if way in ("async", "events") else None, name=sub[0], description=sub[1]))
    app = build(model(task["stream"]), task["system"], tools, "assistant")
    messages = [(m["role"], m["content"]) for m in task["history"]] + [("user", task["user"])]
    config = {"callbacks": [handler]} if handler else {}
    if kind == "memory":
        config["configurable"] = {"thread_id": "t-" + task["user"][:12]}
        if task["history"]:
            app.update_state(config, {"messages": messages[:-1]})
            del messages[:-1]
    if task["max_steps"]:
        config["recursion_limit"] = 2 * task["max_steps"]
    if way in ("async", "events"):
        return later(app, messages, config, task["stream"])
    if way == "tokens":
        for mode, piece in app.stream({"messages": messages}, config, stream_mode=["messages", "values"]):
            if mode == "values":
                state = piece
        return text(state["messages"][-1])
    if task["stream"] and kind != "executor":
        for state in app.stream({"messages": messages}, config, stream_mode="values"):
            pass
        return text(state["messages"][-1])
    return said(app.invoke({"messages": messages}, config))


async def later(app, messages, config, stream):
    if way == "events":
        async for event in app.astream_events({"messages": messages}, config, version="v2"):
            if event["event"] == "on_chain_end" and not event["parent_ids"]:
                state = event["data"]["output"]
        return said(state)
    if not stream or kind == "executor":
        return said(await app.ainvoke({"messages": messages}, config))
    async for state in app.astream({"messages": messages}, config, stream_mode="values"):
        pass
    return text(state["messages"][-1])


recorder.main(agent, group, MODELS[api], flush, scenarios or None, way in ("async", "events"))
