# Copyright The tapedeck Authors
# SPDX-License-Identifier: Apache-2.0
"""DSPy: python dspy_agent.py GROUP INSTRUMENTATION KIND[-async] [SCENARIO ...]

KIND: native (ReActV2 with the tools of the provider), react (ReAct, to which the model answers in text: the fields that the signature asks for).
INSTRUMENTATION: as in instrument_graphs.py; openinference-litellm is that of LiteLLM beside it."""

import json
import sys

import recorder
from instrument_graphs import provider, setup

group, instrumentation, kind, *scenarios = sys.argv[1:]
kind, _, way = kind.partition("-")
MODEL = "gpt-4o-mini"
if instrumentation.startswith("openinference"):
    from openinference.instrumentation.dspy import DSPyInstrumentor
    from openinference.instrumentation.litellm import LiteLLMInstrumentor

    made = provider()
    DSPyInstrumentor().instrument(tracer_provider=made)
    if instrumentation.endswith("litellm"):
        LiteLLMInstrumentor().instrument(tracer_provider=made)
    flush = made.force_flush
elif instrumentation == "langtrace":
    import instrument_sdk

    flush = instrument_sdk.langtrace("openai").flush
else:
    flush, _ = setup(instrumentation, "dspy")
import dspy  # noqa: E402

PARALLEL = {"parallel_tools", "parallel_identical", "one_of_two_fails", "stream_parallel", "unknown_then_known", "same_payload_twice", "start_and_poll"}


class Fields(dspy.LM):
    """A model that says in text which tool it wants, one each turn, as DSPy's signatures ask for it."""

    def __init__(self, tools):
        super().__init__("openai/" + MODEL, api_base=recorder.URL + "/v1", api_key="none", cache=False, num_retries=0)
        self.offered, self.final = tools, ""

    def said(self, results):
        message = results.choices[0].message
        if message.tool_calls and not self.final:  # what it says after the last call is what that said
            call = message.tool_calls[0].function
            args = json.loads(call.arguments)
            self.final = args.get("answer", "") if call.name == "finish" else self.final
            fields = {"next_thought": message.content or "I go on.", "next_tool_name": call.name, "next_tool_args": "{}" if call.name == "finish" else call.arguments}
        else:
            fields = {"reasoning": "I have what I need.", "answer": self.final or message.content}
        message.content = "\n\n".join(f"[[ ## {name} ## ]]\n{value}" for name, value in {**fields, "completed": ""}.items()).strip()
        message.tool_calls = None
        return results

    def forward(self, prompt=None, messages=None, **kwargs):
        return self.said(super().forward(prompt, messages, tools=self.offered, **kwargs))

    async def aforward(self, prompt=None, messages=None, **kwargs):
        return self.said(await super().aforward(prompt, messages, tools=self.offered, **kwargs))


def made_of(system, functions, schemas, limit=None):
    signature = dspy.Signature("question: str -> answer: str", system)
    module = (dspy.ReActV2 if kind == "native" else dspy.ReAct)(signature, tools=[dspy.Tool(f) for f in functions], max_iters=limit or 20)
    if kind == "native":
        return module, dspy.LM("openai/" + MODEL, api_base=recorder.URL + "/v1", api_key="none", cache=False, num_retries=0)
    return module, Fields([{"type": "function", "function": {"name": f.__name__, "description": f.__doc__, "parameters": schemas.get(f.__name__) or {"type": "object"}}} for f in functions])


def agent(task, functions, sub):
    schemas = {t["name"]: t["parameters"] for t in (task.get("tools") or []) + ((task.get("sub") or {}).get("tools") or [])}
    adapter = dspy.ChatAdapter(use_native_function_calling=True) if kind == "native" else dspy.ChatAdapter()
    if sub:
        inner, model = made_of(sub[2], sub[3], schemas)

        def ask(question: str) -> str:
            with dspy.context(lm=model, adapter=adapter):
                return inner(question=question).answer

        async def ask_later(question: str) -> str:
            with dspy.context(lm=model, adapter=adapter):
                return (await inner.acall(question=question)).answer

        asked = ask_later if way == "async" else ask
        asked.__name__, asked.__doc__ = sub[0], sub[1]
        functions = [*functions, asked]
    module, model = made_of(task["system"], functions, schemas, task["max_steps"])
    if way == "async":

        async def later():
            with dspy.context(lm=model, adapter=adapter):
                return (await module.acall(question=task["user"])).answer

        return later()
    with dspy.context(lm=model, adapter=adapter):
        return module(question=task["user"]).answer


SKIPPED = {"history_followup"} | (PARALLEL if kind == "react" else set())  # a question is no conversation; the text names one tool
chosen = scenarios or [s for s in recorder.call("/scenarios") if s not in SKIPPED]
recorder.main(agent, group, MODEL, flush, chosen, way == "async", answer_tool=("submit" if kind == "native" else "finish", "answer"))
