# Copyright The tapedeck Authors
# SPDX-License-Identifier: Apache-2.0
"""Pipecat, a pipeline of text: API is openai or anthropic, with -packages OpenInference's package beside its own spans. python pipecat_agent.py API[-turnless|-packages] [SCENARIO ...]

Speech is what begins a turn of Pipecat's; here one is begun by what the user is said to have spoken. With -turnless there are no turns, and each call of the model lies in the conversation."""

import asyncio
import os
import sys

import instrument_frameworks as instrument
import recorder

API, _, SHAPE = sys.argv[1].partition("-")
MODEL = {"openai": "gpt-4o-mini", "anthropic": "claude-sonnet-4-5"}[API]
flush = instrument.start("openinference_packages" if SHAPE == "packages" else "own", family="pipecat")

from loguru import logger  # noqa: E402

logger.remove()
from pipecat.adapters.llm.schemas.function_schema import FunctionSchema  # noqa: E402
from pipecat.adapters.llm.schemas.tools_schema import ToolsSchema  # noqa: E402
from pipecat.frames.frames import EndFrame, ErrorFrame, LLMContextFrame, LLMFullResponseEndFrame, LLMTextFrame, UserStartedSpeakingFrame, UserStoppedSpeakingFrame  # noqa: E402
from pipecat.pipeline.pipeline import Pipeline  # noqa: E402
from pipecat.pipeline.worker import PipelineParams, PipelineWorker  # noqa: E402
from pipecat.processors.aggregators.llm_context import LLMContext  # noqa: E402
from pipecat.processors.aggregators.llm_response_universal import LLMContextAggregatorPair  # noqa: E402
from pipecat.processors.frame_processor import FrameProcessor  # noqa: E402
from pipecat.workers.runner import WorkerRunner  # noqa: E402


def service(system):
    if API == "anthropic":
        from anthropic import AsyncAnthropic
        from pipecat.services.anthropic.llm import AnthropicLLMService

        return AnthropicLLMService(api_key="none", settings=AnthropicLLMService.Settings(model=MODEL, system_instruction=system), client=AsyncAnthropic(api_key="none", base_url=recorder.URL, max_retries=0))
    from pipecat.services.openai.llm import OpenAILLMService

    return OpenAILLMService(api_key="none", base_url=recorder.URL + "/v1", settings=OpenAILLMService.Settings(model=MODEL, system_instruction=system))


class Heard(FrameProcessor):
    """What the model says, until it has nothing more to ask for."""

    def __init__(self, running, ended):
        super().__init__()
        self.running, self.ended, self.text, self.last, self.error = running, ended, "", None, None

    async def process_frame(self, frame, direction):
        await super().process_frame(frame, direction)
        if isinstance(frame, LLMTextFrame):
            self.text += frame.text
        if isinstance(frame, LLMFullResponseEndFrame):
            self.last, self.text = self.text, ""
            if self.last:
                asyncio.get_running_loop().call_later(0.4, self.settle, self.last)
        await self.push_frame(frame, direction)

    def settle(self, said):
        if not self.running and self.last == said and not self.text:
            self.ended.set()


async def ask(system, tools, schemas, question, history=()):
    llm, running, ended = service(system), set(), asyncio.Event()
    standard = []
    for function in tools:
        schema = schemas[function.__name__]
        standard.append(FunctionSchema(schema["name"], schema["description"], schema["parameters"].get("properties", {}), schema["parameters"].get("required", [])))

        async def handle(params, function=function):
            running.add(params.tool_call_id)
            try:
                result = await function(**params.arguments)
            except recorder.ToolError as e:
                result = {"error": str(e)}
            await params.result_callback(result)
            running.discard(params.tool_call_id)

        llm.register_function(function.__name__, handle)
    context = LLMContext([*history, {"role": "user", "content": question}], *([ToolsSchema(standard)] if standard else []))
    pair, heard = LLMContextAggregatorPair(context), Heard(running, ended)
    pipeline = Pipeline([pair.user(), llm, heard, pair.assistant()])
    worker = PipelineWorker(pipeline, params=PipelineParams(), enable_tracing=SHAPE != "packages", enable_turn_tracking=True, enable_rtvi=False, idle_timeout_secs=20, conversation_id=os.urandom(6).hex())

    @worker.event_handler("on_pipeline_error")
    async def failed(worker, frame: ErrorFrame):
        heard.error = frame.error
        ended.set()

    async def drive():
        if SHAPE != "turnless":
            await worker.queue_frames([UserStartedSpeakingFrame(), UserStoppedSpeakingFrame()])
            await asyncio.sleep(0.1)
        await worker.queue_frame(LLMContextFrame(context))
        try:
            await asyncio.wait_for(ended.wait(), 15)
        except asyncio.TimeoutError:
            heard.error = heard.error or "no answer"
        await worker.queue_frame(EndFrame())

    runner = WorkerRunner(handle_sigint=False)
    await runner.add_workers(worker)
    await asyncio.gather(runner.run(), drive())
    if heard.error:
        raise RuntimeError(str(heard.error))
    return heard.last


async def agent(task, tools, sub):
    schemas = {t["name"]: t for t in (task.get("tools") or []) + ((task.get("sub") or {}).get("tools") or [])}
    if sub:
        name, description, system, functions = sub
        schemas[name] = {"name": name, "description": description, "parameters": {"properties": {"question": {"type": "string"}}, "required": ["question"]}}

        async def below(question: str):
            return await ask(system, functions, schemas, question)

        below.__name__ = name
        tools = [*tools, below]
    return await ask(task["system"], tools, schemas, task["user"], task.get("history") or [])


recorder.main(agent, "pipecat-" + sys.argv[1], MODEL, flush, sys.argv[2:], asynchronous=True)
