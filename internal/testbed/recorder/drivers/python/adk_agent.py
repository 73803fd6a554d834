# Copyright The tapedeck Authors
# SPDX-License-Identifier: Apache-2.0
"""Google ADK: python adk_agent.py GROUP INSTRUMENTATION CAPTURE API [SCENARIO ...]

CAPTURE is OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT, - for none. API: gemini, openai, anthropic (both through LiteLLM), each with
-sequential (the agent below a SequentialAgent)."""

import asyncio
import gc
import os
import sys

import recorder
from instrument_graphs import URL, setup

group, instrumentation, capture, api, *scenarios = sys.argv[1:]
api, _, shape = api.partition("-")
if capture != "-":
    os.environ["OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"] = capture
os.environ.update(GOOGLE_API_KEY="local", GOOGLE_GEMINI_BASE_URL=URL, GOOGLE_GENAI_USE_VERTEXAI="FALSE")
flush, _ = (setup("none", "adk") if instrumentation == "none" else setup(instrumentation, "adk"))
from google.adk.agents import LlmAgent, RunConfig  # noqa: E402
from google.adk.agents.run_config import StreamingMode  # noqa: E402
from google.adk.events import Event  # noqa: E402
from google.adk.runners import InMemoryRunner  # noqa: E402
from google.adk.tools.agent_tool import AgentTool  # noqa: E402
from google.genai import types  # noqa: E402

MODELS = {"gemini": "gemini-2.5-flash", "openai": "gpt-4o-mini", "anthropic": "claude-sonnet-4-5"}


def model():
    if api == "gemini":
        return MODELS[api]
    from google.adk.models.lite_llm import LiteLlm

    return LiteLlm(model=f"{api}/{MODELS[api]}", api_base=URL + ("/v1" if api == "openai" else ""), api_key="sk-local")


def told(tool, args, tool_context, error):
    return {"error": str(error)}


HANDLED = {"on_tool_error_callback": told} if "on_tool_error_callback" in LlmAgent.model_fields else {}  # not before 1.8


async def agent(task, functions, sub):
    try:
        return await asked(task, functions, sub)
    except Exception as e:
        failed = e.with_traceback(None)
        failed.__context__ = None
    gc.collect()  # what was left of the generators ends their spans in this run
    await asyncio.sleep(0)
    raise failed


async def asked(task, functions, sub):
    tools = list(functions)
    if sub:
        tools.append(AgentTool(LlmAgent(name=sub[0], description=sub[1], instruction=sub[2], model=model(), tools=list(sub[3]), **HANDLED)))
    root = LlmAgent(name="assistant", model=model(), instruction=task["system"], tools=tools, **HANDLED)
    if shape == "sequential":
        from google.adk.agents import SequentialAgent

        root = SequentialAgent(name="pipeline", sub_agents=[root])
    runner = InMemoryRunner(agent=root, app_name="assistant")
    session = await runner.session_service.create_session(app_name="assistant", user_id="u")
    for m in task["history"]:
        role = "user" if m["role"] == "user" else "model"
        author = "user" if role == "user" else "assistant"
        await runner.session_service.append_event(session, Event(author=author, content=types.Content(role=role, parts=[types.Part(text=m["content"])])))
    more = {"max_llm_calls": task["max_steps"]} if task["max_steps"] else {}
    config, answer = RunConfig(streaming_mode=StreamingMode.SSE if task["stream"] else StreamingMode.NONE, **more), None
    message = types.Content(role="user", parts=[types.Part(text=task["user"])])
    async for event in runner.run_async(user_id="u", session_id=session.id, new_message=message, run_config=config):
        if event.is_final_response() and event.content and event.content.parts and not event.partial:
            answer = "".join(p.text or "" for p in event.content.parts)
    return answer


recorder.main(agent, group, MODELS[api] if api == "gemini" else f"{api}/{MODELS[api]}", flush, scenarios or None, asynchronous=True)
