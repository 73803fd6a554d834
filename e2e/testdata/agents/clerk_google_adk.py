# Copyright The tapedeck Authors
# SPDX-License-Identifier: Apache-2.0
import asyncio
import os

# What the documentation says brings the content of model calls; ADK reads it once.
os.environ["OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"] = "SPAN_ONLY"

from google.adk.agents import Agent
from google.adk.runners import InMemoryRunner
from google.genai import types

from common import QUESTIONS, SYSTEM, done, get_stock


def told(tool, args, tool_context, error):
    return {"error": str(error)}


os.environ["GOOGLE_API_KEY"] = "none"
os.environ.setdefault("GOOGLE_GEMINI_BASE_URL", os.environ.get("MODEL_URL", ""))
clerk = Agent(name="clerk", model="gemini-2.5-flash", instruction=SYSTEM, tools=[get_stock], on_tool_error_callback=told)


async def main():
    runner = InMemoryRunner(agent=clerk, app_name="clerk")
    session = await runner.session_service.create_session(app_name="clerk", user_id="u")
    answers = []
    for question in QUESTIONS:
        async for event in runner.run_async(user_id="u", session_id=session.id, new_message=types.Content(role="user", parts=[types.Part(text=question)])):
            if event.is_final_response():
                answers.append(event.content.parts[0].text)
    done(answers)


asyncio.run(main())
