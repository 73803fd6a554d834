# Copyright The tapedeck Authors
# SPDX-License-Identifier: Apache-2.0
"""smolagents, ToolCallingAgent: INSTRUMENTATION is NAME. Its model answers by a call of final_answer."""

import os
import sys

import instrument_frameworks as instrument
import recorder

MODEL = "gpt-4o-mini"
NAME = sys.argv[1].split("-")[0]
flush = instrument.start(NAME, family="smolagents", openinference=["smolagents:SmolagentsInstrumentor"], langfuse=["smolagents:SmolagentsInstrumentor"], mlflow="smolagents", logfire=["openai"])

from smolagents import OpenAIServerModel, Tool, ToolCallingAgent  # noqa: E402


def tool(function, schema):
    """The tool as a class, which smolagents takes for tools that are made at run time."""
    inputs = {name: {"type": spec["type"], "description": name, **({} if name in schema.get("required", []) else {"nullable": True})} for name, spec in schema["properties"].items()}
    made = type(
        "".join(word.title() for word in function.__name__.split("_")) + "Tool", (Tool,),
        {"name": function.__name__, "description": function.__doc__, "inputs": inputs, "output_type": "any", "skip_forward_signature_validation": True,
         "forward": lambda self, *args, **kwargs: function(*args, **kwargs)},
    )
    return made()


def agent(task, tools, sub):
    model = OpenAIServerModel(model_id=MODEL, api_base=recorder.URL + "/v1", api_key="none")
    schemas = {t["name"]: t["parameters"] for t in (task.get("tools") or []) + ((task.get("sub") or {}).get("tools") or [])}
    given = [tool(t, schemas[t.__name__]) for t in tools]
    if sub:
        name, description, system, functions = sub
        inner = ToolCallingAgent(tools=[tool(t, schemas[t.__name__]) for t in functions], model=model, instructions=system, max_steps=6, verbosity_level=0)

        def ask(question):
            return inner.run(question)

        ask.__name__, ask.__doc__ = name, description
        given.append(tool(ask, {"properties": {"question": {"type": "string"}}, "required": ["question"]}))
    main = ToolCallingAgent(tools=given, model=model, instructions=task["system"], max_steps=task.get("max_steps") or 8, verbosity_level=0)
    asked = task["user"]
    if task.get("stream"):
        *_, last = main.run(asked, stream=True)
        return last.output if isinstance(last.output, str) else str(last.output)
    return main.run(asked)


SKIPPED = {"history_followup"}  # it takes no messages of earlier turns
SCENARIOS = sys.argv[2:] or [s for s in recorder.call("/scenarios") if s not in SKIPPED]
recorder.main(agent, "smolagents-" + sys.argv[1] + os.environ.get("VERSION", ""), MODEL, flush, SCENARIOS, answer_tool=("final_answer", "answer"))
