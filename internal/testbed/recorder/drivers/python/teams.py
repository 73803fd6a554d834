# Copyright The tapedeck Authors
# SPDX-License-Identifier: Apache-2.0
"""Instrumentations as one team writes them: every profile is whole and plausible by itself, and a seed draws one with what teams vary. Unlike handwritten.py, which draws
each choice by itself, what belongs together stays together: keys of one convention, one encoding, one place, and what the team adds of its own.

    RECORDER=http://127.0.0.1:PORT python teams.py FIRST-LAST [SCENARIO ...]

The group of a seed is team-PROFILE-SEED. Without scenarios each seed draws half of them. DRAW=1 prints the names of the groups.
"""

import contextlib
import json
import os
import random
import sys
import time
from concurrent.futures import ThreadPoolExecutor

from opentelemetry import context, trace
from opentelemetry._logs import LogRecord, SeverityNumber
from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import SimpleLogRecordProcessor
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

from providers import chat_message, compact, post, request, understand
from recorder import URL, call, main

INTERNAL, CLIENT, SERVER = trace.SpanKind.INTERNAL, trace.SpanKind.CLIENT, trace.SpanKind.SERVER
PROVIDERS = {"chat": "openai", "anthropic": "anthropic", "gemini": "gcp.gemini"}


def parts_message(m):
    """A message as the conventions have it since 1.37."""
    if m["role"] == "tool":
        return {"role": "tool", "parts": [{"type": "tool_call_response", "id": m["id"], "response": m["text"]}]}
    parts = [{"type": "text", "content": m["text"]}] if m["text"] else []
    return {"role": m["role"], "parts": parts + [{"type": "tool_call", "id": i, "name": n, "arguments": json.loads(a)} for i, n, a in m.get("calls") or []]}


def plain_message(m):
    """A message as a team writes it that keeps what it needs."""
    out = {"role": m["role"], "content": m["text"]}
    if m["role"] == "tool":
        out |= {"name": m["name"]} | ({"tool_call_id": m["id"]} if m["id"] else {})
    if m.get("calls"):
        out["tool_calls"] = [{"id": i, "name": n, "arguments": json.loads(a)} for i, n, a in m["calls"]]
    return out


def finish(message):
    return "tool_calls" if message["calls"] else "stop"


class Profile:
    """What a team records: hooks that are called with the span of what happens. Attributes come back as a map; anything else is done with the span."""

    api = ("chat", "chat", "anthropic")
    scope = "acme.agents"
    steps = (False,)  # a span for each turn of the loop
    server = (False, False, True)  # the agent runs inside a request

    def __init__(self, r, loop):
        self.r, self.loop = r, loop
        self.messages = r.choice([plain_message, chat_message])
        self.failure = r.choice(["status", "exception", "exception", "both"])
        self.draw()

    def draw(self):
        pass

    def names(self, kind, name, task):
        return {"agent": name, "llm": f"chat {task['model']}", "tool": name, "step": f"turn {name}"}[kind]

    def agent(self, name, task, messages):
        return {}

    def answered(self, text, task):
        return {}

    def step(self, n):
        return {}

    def ask(self, task, messages, body):
        return {}

    def answer(self, task, message, chunks):
        return {}

    def tool(self, call_id, name, args, text):
        return {}

    def returned(self, name, result, told):
        return {}

    def failed(self, name, error):
        return {}


class Semconv(Profile):
    """The conventions of today, and a few keys of the team."""

    def draw(self):
        r = self.r
        self.root = r.choice(["messages", "own", "both", "none"])
        self.own = r.choice([("acme.user_question", "acme.final_answer"), ("app.question", "app.answer"), ("chat.user_message", "chat.assistant_message"), ("agent.input", "agent.output"), ("input", "output")])
        self.system = r.choice(["instructions", "message"])
        self.prefix, self.place = r.choice(["acme.", "app."]), r.choice(["span", "span", "event", "log"])
        self.structured = r.random() < 0.2

    def names(self, kind, name, task):
        return {"agent": f"invoke_agent {name}", "llm": f"chat {task['model']}", "tool": f"execute_tool {name}", "step": f"turn {name}"}[kind]

    def put(self, span, content):
        if self.place == "span":
            return content
        if self.place == "event":
            span.add_event("gen_ai.client.inference.operation.details", content)
        else:
            self.loop.log("gen_ai.client.inference.operation.details", content)
        return {}

    def agent(self, name, task, messages):
        out = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": name, "gen_ai.provider.name": PROVIDERS[task["api"]], self.prefix + "tenant": "t-17"}
        if self.root in ("messages", "both"):
            out["gen_ai.input.messages"] = compact([parts_message(m) for m in messages if m["role"] != "system"])
        if self.root in ("own", "both"):
            out[self.own[0]] = task["user"]
        return out

    def answered(self, text, task):
        out = {}
        if self.root in ("messages", "both"):
            out["gen_ai.output.messages"] = compact([{"role": "assistant", "parts": [{"type": "text", "content": text}], "finish_reason": "stop"}])
        if self.root in ("own", "both"):
            out[self.own[1]] = text
        return out

    def ask(self, task, messages, body):
        out = {"gen_ai.operation.name": "chat", "gen_ai.provider.name": PROVIDERS[task["api"]], "gen_ai.request.model": task["model"], self.prefix + "prompt.version": "v3"}
        self.asked = {"gen_ai.input.messages": compact([parts_message(m) for m in messages if m["role"] != "system" or self.system == "message"])}
        if self.system == "instructions":
            self.asked["gen_ai.system_instructions"] = compact([{"type": "text", "content": task["system"]}])
        return out

    def answer(self, task, message, chunks):
        out = {"gen_ai.output.messages": compact([parts_message(message) | {"finish_reason": finish(message)}])}
        return self.put(trace.get_current_span(), self.asked | out) | {"gen_ai.usage.input_tokens": 40, "gen_ai.usage.output_tokens": 12, "gen_ai.response.finish_reasons": [finish(message)]}

    def tool(self, call_id, name, args, text):
        return {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name, "gen_ai.tool.type": "function", "gen_ai.tool.call.arguments": text} | ({"gen_ai.tool.call.id": call_id} if call_id else {})

    def returned(self, name, result, told):
        return {"gen_ai.tool.call.result": result if isinstance(result, str) else compact(result)}

    def failed(self, name, error):
        return {"error.type": "ToolError"}


class Events128(Profile):
    """The conventions between 1.28 and 1.36: a message per event, as events of the span, as Azure writes them, or as log records."""

    def draw(self):
        self.place = self.r.choice(["span", "azure", "log"])
        self.keys = self.r.choice([("tool.name", "tool.input", "tool.output"), ("gen_ai.tool.name", "acme.tool.arguments", "acme.tool.result"), ("gen_ai.tool.name", "gen_ai.tool.call.arguments", "gen_ai.tool.call.result"),
                                   ("gen_ai.tool.name", "tool.args", "tool.response")])
        self.own = self.r.choice([None, ("user.question", "agent.answer"), ("input.value", "output.value")])

    def names(self, kind, name, task):
        return {"agent": f"agent.run", "llm": f"chat {task['model']}", "tool": f"execute_tool {name}", "step": f"turn {name}"}[kind]

    def emit(self, name, body):
        span = trace.get_current_span()
        if self.place == "log":
            self.loop.log(name, {"gen_ai.system": self.system}, body)
        elif self.place == "azure":
            span.add_event(name, {"gen_ai.system": self.system, "gen_ai.event.content": compact(body)})
        else:
            span.add_event(name, {k: v if isinstance(v, str | int) else compact(v) for k, v in body.items() if v is not None})

    def agent(self, name, task, messages):
        return {self.own[0]: task["user"]} if self.own else {}

    def answered(self, text, task):
        return {self.own[1]: text} if self.own else {}

    def ask(self, task, messages, body):
        self.system = PROVIDERS[task["api"]]
        for m in messages:
            said = chat_message(m)
            body = {"content": said["content"]} | {k: said[k] for k in ("tool_calls", "tool_call_id") if k in said}
            if m["role"] == "tool":
                body = {"id": m["id"], "content": m["text"]}
            self.emit(f"gen_ai.{m['role']}.message", body | ({"role": m["role"]} if self.place != "log" else {}))
        return {"gen_ai.operation.name": "chat", "gen_ai.system": self.system, "gen_ai.request.model": task["model"]}

    def answer(self, task, message, chunks):
        said = chat_message(message)
        inner = {"role": "assistant"} | {k: said[k] for k in ("content", "tool_calls") if said.get(k)}
        self.emit("gen_ai.choice", {"index": 0, "finish_reason": finish(message), "message": inner})
        return {"gen_ai.response.model": task["model"], "gen_ai.response.finish_reasons": [finish(message)], "gen_ai.usage.input_tokens": 40, "gen_ai.usage.output_tokens": 12}

    def tool(self, call_id, name, args, text):
        return {"gen_ai.operation.name": "execute_tool", self.keys[0]: name, self.keys[1]: text} | ({"gen_ai.tool.call.id": call_id} if call_id else {})

    def returned(self, name, result, told):
        return {self.keys[2]: told}


class FirstSemconv(Profile):
    """The first version: prompt and completion as JSON, in events or on the span, tools with the team's keys."""

    def draw(self):
        r = self.r
        self.event, self.flat = r.random() < 0.4, r.random() < 0.3
        self.t = r.choice([("tool.name", "tool.arguments", "tool.result"), ("tool.name", "tool.parameters", "tool.output"), ("gen_ai.tool.name", "gen_ai.tool.input", "gen_ai.tool.output"), ("gen_ai.tool.name", "gen_ai.tool.arguments", "gen_ai.tool.result"),
                           ("acme.tool.name", "acme.tool.args", "acme.tool.result")])
        self.out = r.choice(["message", "list", "text"])

    def names(self, kind, name, task):
        return {"agent": "agent", "llm": f"{PROVIDERS[task['api']]}.chat", "tool": f"tool.{name}", "step": f"step {name}"}[kind]

    def agent(self, name, task, messages):
        return {"gen_ai.prompt": task["user"], "gen_ai.agent.name": name}

    def answered(self, text, task):
        return {"gen_ai.completion": text}

    def flattened(self, prefix, messages):
        out = {}
        for n, m in enumerate(messages):
            out |= {f"{prefix}.{n}.role": m["role"], f"{prefix}.{n}.content": m["text"] or ""}
            for k, (i, name, args) in enumerate(m.get("calls") or []):
                out |= {f"{prefix}.{n}.tool_calls.{k}.id": i or "", f"{prefix}.{n}.tool_calls.{k}.name": name, f"{prefix}.{n}.tool_calls.{k}.arguments": args}
            if m["role"] == "tool":
                out |= {f"{prefix}.{n}.tool_call_id": m["id"] or ""}
        return out

    def ask(self, task, messages, body):
        out = {"gen_ai.system": PROVIDERS[task["api"]], "gen_ai.request.model": task["model"], "gen_ai.request.temperature": 0.2}
        if self.flat:
            return out | self.flattened("gen_ai.prompt", messages)
        text = compact([self.messages(m) for m in messages])
        if self.event:
            trace.get_current_span().add_event("gen_ai.content.prompt", {"gen_ai.prompt": text})
            return out
        return out | {"gen_ai.prompt": text}

    def answer(self, task, message, chunks):
        out = {"gen_ai.usage.prompt_tokens": 40, "gen_ai.usage.completion_tokens": 12, "gen_ai.response.model": task["model"]}
        if self.flat:
            return out | self.flattened("gen_ai.completion", [message]) | {"gen_ai.completion.0.finish_reason": finish(message)}
        said = self.messages(message)
        text = message["text"] if self.out == "text" and not message["calls"] else compact([said] if self.out == "list" else said)
        if self.event:
            trace.get_current_span().add_event("gen_ai.content.completion", {"gen_ai.completion": text})
            return out
        return out | {"gen_ai.completion": text}

    def tool(self, call_id, name, args, text):
        return {self.t[0]: name, self.t[1]: text}

    def returned(self, name, result, told):
        return {self.t[2]: told}


class OpenInference(Profile):
    """OpenInference's keys, written by hand, with or without the flattened messages."""

    api = ("chat", "chat", "anthropic", "gemini")
    steps = (False, False, True)

    def draw(self):
        self.flat, self.body = self.r.choice([(True, True), (True, False), (False, True), (False, True)])
        self.scoped = self.r.random() < 0.5
        self.parameters = self.r.choice(["args", "schema", "none"])
        self.root = self.r.choice(["text", "text", "json"])

    def names(self, kind, name, task):
        return {"agent": "AgentRun", "llm": "ChatCompletion", "tool": name, "step": f"step_{name}"}[kind]

    def agent(self, name, task, messages):
        if self.root == "json":
            return {"openinference.span.kind": "AGENT", "input.value": compact({"input": task["user"], "history": task["history"]}), "input.mime_type": "application/json", "agent.name": name}
        return {"openinference.span.kind": "AGENT", "input.value": task["user"], "input.mime_type": "text/plain"}

    def answered(self, text, task):
        return {"output.value": compact({"output": text}), "output.mime_type": "application/json"} if self.root == "json" else {"output.value": text, "output.mime_type": "text/plain"}

    def step(self, n):
        return {"openinference.span.kind": "CHAIN"}

    def flattened(self, prefix, messages):
        out = {}
        for n, m in enumerate(messages):
            at = f"{prefix}.{n}.message."
            out |= {at + "role": m["role"]} | ({at + "content": m["text"]} if m["text"] else {}) | ({at + "tool_call_id": m["id"]} if m.get("id") else {})
            for k, (i, name, args) in enumerate(m.get("calls") or []):
                out |= {f"{at}tool_calls.{k}.tool_call.function.name": name, f"{at}tool_calls.{k}.tool_call.function.arguments": args} | ({f"{at}tool_calls.{k}.tool_call.id": i} if i else {})
        return out

    def ask(self, task, messages, body):
        out = {"openinference.span.kind": "LLM", "llm.model_name": task["model"], "llm.provider": PROVIDERS[task["api"]]}
        if self.body:
            out |= {"input.value": compact(body if task["api"] != "gemini" else {"model": task["model"]} | body), "input.mime_type": "application/json"}
        return out | (self.flattened("llm.input_messages", messages) if self.flat else {})

    def answer(self, task, message, chunks):
        out = {"llm.token_count.prompt": 40, "llm.token_count.completion": 12}
        if self.body:
            whole = chunks[0] if len(chunks) == 1 else self.messages(message)
            out |= {"output.value": compact(whole), "output.mime_type": "application/json"}
        return out | (self.flattened("llm.output_messages", [message]) if self.flat else {})

    def tool(self, call_id, name, args, text):
        out = {"openinference.span.kind": "TOOL", "tool.name": name, "input.value": text, "input.mime_type": "application/json"}
        return out | {"args": {"tool.parameters": text}, "schema": {"tool.parameters": compact({"type": "object", "properties": {k: {"type": "string"} for k in args}})}, "none": {}}[self.parameters]

    def returned(self, name, result, told):
        return {"output.value": told, "output.mime_type": "text/plain" if isinstance(result, str) else "application/json"}


class InputOutput(Profile):
    """A vendor's or a team's tracer: every span has a type, and its input and output as JSON."""

    api = ("chat", "anthropic", "gemini")
    steps = (False, True)
    scope = "acme-tracer"

    def draw(self):
        r = self.r
        p = r.choice(["", "acme.", "trace.", "ai.span.", "helios.", "span."])
        self.keys = r.choice([(p + "input", p + "output"), (p + "inputs", p + "outputs"), (p + "input.json", p + "output.json"), (p + "request", p + "response")])
        self.kind = r.choice([p + "type", p + "kind", p + "span.type", p + "span_kind", "span.type"])
        self.words = r.choice([("agent", "llm", "tool", "step"), ("AGENT", "LLM", "TOOL", "CHAIN"), ("workflow", "generation", "tool", "span"), ("agent_run", "llm_call", "tool_call", "iteration"), ("chain", "model", "function", "task")])
        self.whole = r.choice(["kwargs", "messages", "body"])
        self.out = r.choice(["message", "body", "text"])
        self.model = r.choice([p + "model", p + "metadata", p + "llm.model", "model"])
        self.wrapped = r.choice([False, False, True])

    def names(self, kind, name, task):
        return {"agent": f"{name}.run", "llm": "llm.complete", "tool": name, "step": f"iteration {name}"}[kind]

    def agent(self, name, task, messages):
        given = {"question": task["user"], "history": task["history"]} if self.wrapped or task["history"] else task["user"]
        return {self.kind: self.words[0], self.keys[0]: compact(given)}

    def answered(self, text, task):
        return {self.keys[1]: compact({"answer": text} if self.wrapped else text)}

    def step(self, n):
        return {self.kind: self.words[3]}

    def ask(self, task, messages, body):
        listed = [self.messages(m) for m in messages]
        given = {"messages": listed, "kwargs": {"messages": listed, "model": task["model"], "temperature": 0.2}, "body": body}[self.whole]
        return {self.kind: self.words[1], self.keys[0]: compact(given), self.model: compact({"model": task["model"]}) if self.model.endswith("metadata") else task["model"]}

    def answer(self, task, message, chunks):
        said = self.messages(message)
        if self.out == "text":
            said = {"text": message["text"], "tool_calls": said.get("tool_calls", [])}
        return {self.keys[1]: compact(chunks[0] if self.out == "body" and len(chunks) == 1 else said)}

    def tool(self, call_id, name, args, text):
        return {self.kind: self.words[2], self.keys[0]: compact({"args": [], "kwargs": args} if self.wrapped else args)} | ({"tool.name": name} if self.r.random() < 0 else {})

    def returned(self, name, result, told):
        return {self.keys[1]: compact(result)}

    def failed(self, name, error):
        return {self.keys[1]: compact({"error": error})} if self.wrapped else {}


class Bodies(Profile):
    """What went over the wire, as it was, and the tools with keys of the team; the root is the request of the user."""

    api = ("chat", "chat", "anthropic", "gemini")
    server = (True, True, False)

    def draw(self):
        r = self.r
        self.keys = r.choice([("llm.request", "llm.response"), ("openai.request.body", "openai.response.body"), ("llm.request.body", "llm.response.body"), ("ai.request", "ai.response"), ("acme.llm.request", "acme.llm.response"),
                              ("gen_ai.request.body", "gen_ai.response.body"), ("llm.input", "llm.output"), ("model.request_json", "model.response_json")])
        self.t = r.choice([("tool.name", "tool.args", "tool.result"), ("tool.name", "tool.input", "tool.output"), ("acme.tool.name", "acme.tool.arguments", "acme.tool.output"), ("function.name", "function.arguments", "function.result")])
        self.own = r.choice([("chat.question", "chat.answer"), ("agent.question", "agent.answer"), ("user.message", "assistant.message"), ("acme.query", "acme.reply"), ("request.prompt", "response.text")])
        self.event, self.shown = r.random() < 0.2, r.random() < 0.7

    def names(self, kind, name, task):
        return {"agent": "agent.run", "llm": "llm.call", "tool": f"tool:{name}", "step": f"turn {name}"}[kind]

    def agent(self, name, task, messages):
        return {self.own[0]: task["user"], "agent.name": name} if self.shown else {}

    def answered(self, text, task):
        return {self.own[1]: text} if self.shown else {}

    def put(self, key, value):
        if not self.event:
            return {key: compact(value)}
        trace.get_current_span().add_event(key, {"body": compact(value)})
        return {}

    def ask(self, task, messages, body):
        return {"llm.model": task["model"], "llm.provider": PROVIDERS[task["api"]]} | self.put(self.keys[0], body if task["api"] != "gemini" else {"model": task["model"]} | body)

    def answer(self, task, message, chunks):
        return self.put(self.keys[1], chunks[0] if len(chunks) == 1 else self.messages(message)) | {"llm.tokens.total": 52}

    def tool(self, call_id, name, args, text):
        return {self.t[0]: name, self.t[1]: text} | ({"tool.call_id": call_id} if call_id else {})

    def returned(self, name, result, told):
        return {self.t[2]: told}


class SpanEvents(Profile):
    """A team that writes what happens as events of the spans: prompt, completion, tool input, tool output."""

    def draw(self):
        r = self.r
        self.e = r.choice([("llm.prompt", "llm.completion", "tool.input", "tool.output"), ("prompt", "completion", "tool.start", "tool.end"), ("llm.request", "llm.response", "tool.call", "tool.result"),
                           ("model_input", "model_output", "tool_input", "tool_output"), ("acme.llm.input", "acme.llm.output", "acme.tool.input", "acme.tool.output")])
        self.a = r.choice([("messages", "message", "arguments", "result"), ("messages", "content", "args", "result"), ("content", "content", "content", "content"), ("payload", "payload", "payload", "payload"), ("body", "body", "body", "body")])
        self.kind = r.choice(["acme.kind", "span.type", "acme.operation", None])

    def names(self, kind, name, task):
        return {"agent": f"agent {name}", "llm": f"llm {task['model']}", "tool": f"tool {name}", "step": f"turn {name}"}[kind]

    def typed(self, kind):
        return {self.kind: kind} if self.kind else {}

    def agent(self, name, task, messages):
        trace.get_current_span().add_event("user.message", {"content": task["user"]})
        return self.typed("agent")

    def answered(self, text, task):
        trace.get_current_span().add_event("agent.response", {"content": text or ""})
        return {}

    def ask(self, task, messages, body):
        trace.get_current_span().add_event(self.e[0], {self.a[0]: compact([self.messages(m) for m in messages])})
        return self.typed("llm") | {"llm.model": task["model"]}

    def answer(self, task, message, chunks):
        said = {self.a[1]: compact(self.messages(message))}
        if self.a[1] == "content":
            said = {"content": message["text"]} | ({"tool_calls": compact(self.messages(message)["tool_calls"])} if message["calls"] else {})
        trace.get_current_span().add_event(self.e[1], said)
        return {}

    def tool(self, call_id, name, args, text):
        trace.get_current_span().add_event(self.e[2], {self.a[2]: text})
        return self.typed("tool") | {"tool.name": name} | ({"tool.call.id": call_id} if call_id else {})

    def returned(self, name, result, told):
        trace.get_current_span().add_event(self.e[3], {self.a[3]: told})
        return {}


class Logs(Profile):
    """Structured logging in the context of spans: JSON as the body, a map, or attributes beside a text."""

    def draw(self):
        r = self.r
        self.form = r.choice(["json", "map", "attributes", "attributes"])
        self.named = r.choice([True, False])
        self.e = r.choice([("llm_request", "llm_response", "tool_call", "tool_result"), ("llm.request", "llm.response", "tool.started", "tool.finished"), ("model.input", "model.output", "tool.input", "tool.output")])

    def names(self, kind, name, task):
        return {"agent": f"agent.{name}", "llm": "llm.chat", "tool": f"tool.{name}", "step": f"turn {name}"}[kind]

    def emit(self, event, **fields):
        if self.form == "json":
            self.loop.log(event if self.named else None, {}, compact({"event": event} | fields))
        elif self.form == "map":
            self.loop.log(event if self.named else None, {}, {"event": event} | fields)
        else:
            flat = {k: v if isinstance(v, str | int | bool) else compact(v) for k, v in fields.items() if v is not None}
            self.loop.log(event if self.named else None, flat if self.named else {"event": event} | flat, event.replace("_", " "))

    def agent(self, name, task, messages):
        self.emit("user_message", content=task["user"])
        return {}

    def answered(self, text, task):
        self.emit("agent_response", content=text)
        return {}

    def ask(self, task, messages, body):
        self.emit(self.e[0], model=task["model"], messages=[self.messages(m) for m in messages])
        return {"llm.model": task["model"]}

    def answer(self, task, message, chunks):
        said = self.messages(message)
        self.emit(self.e[1], model=task["model"], content=message["text"], **({"tool_calls": said["tool_calls"]} if message["calls"] else {}), finish_reason=finish(message))
        return {}

    def tool(self, call_id, name, args, text):
        self.emit(self.e[2], tool_name=name, arguments=args, **({"call_id": call_id} if call_id else {}))
        self.call = call_id
        return {"tool.name": name}

    def returned(self, name, result, told):
        self.emit(self.e[3], tool_name=name, result=result)
        return {}

    def failed(self, name, error):
        self.emit(self.e[3], tool_name=name, error=error)
        return {}


class Texts(Profile):
    """Texts where a team wants to read them: the prompt as one text, the completion as one, the calls as JSON beside it."""

    def draw(self):
        r = self.r
        p = r.choice(["llm.", "acme.llm.", "ai.", "model."])
        self.p, self.calls = p, r.choice([p + "tool_calls", p + "response.tool_calls", p + "function_calls"])
        self.prompt = r.choice(["last", "transcript", "lines"])
        self.k = r.choice([(p + "prompt", p + "completion"), (p + "input", p + "output"), (p + "prompt", p + "response")])

    def names(self, kind, name, task):
        return {"agent": "run_agent", "llm": "call_llm", "tool": f"call_tool {name}", "step": f"turn {name}"}[kind]

    def agent(self, name, task, messages):
        return {"agent.input": task["user"], "agent.system_prompt": task["system"], "agent.name": name}

    def answered(self, text, task):
        return {"agent.output": text}

    def ask(self, task, messages, body):
        lines = [f"{m['role']}: {m['text']}" + "".join(f"\n{n}({a})" for _, n, a in m.get("calls") or []) for m in messages]
        prompt = {"last": messages[-1]["text"], "transcript": "\n\n".join(lines), "lines": "\n".join(lines)}[self.prompt]
        return {self.p + "model": task["model"], self.k[0]: prompt}

    def answer(self, task, message, chunks):
        out = {self.k[1]: message["text"]} if message["text"] else {}
        return out | ({self.calls: compact(self.messages(message)["tool_calls"])} if message["calls"] else {})

    def tool(self, call_id, name, args, text):
        return {"tool.name": name, "tool.arguments": text}

    def returned(self, name, result, told):
        return {"tool.result": told}


class Bare(Profile):
    """No content of the model: spans of the conventions with tokens; the tools and the root have content, under the team's keys."""

    def draw(self):
        r = self.r
        self.t = r.choice([("tool.name", "tool.args", "tool.result"), ("gen_ai.tool.name", "gen_ai.tool.call.arguments", "gen_ai.tool.call.result"), ("acme.tool.name", "acme.tool.input", "acme.tool.output")])
        self.own = r.choice([("agent.input", "agent.output"), ("acme.question", "acme.answer"), ("input.value", "output.value"), ("user_query", "final_answer")])

    def names(self, kind, name, task):
        return {"agent": f"invoke_agent {name}", "llm": f"chat {task['model']}", "tool": f"execute_tool {name}", "step": f"turn {name}"}[kind]

    def agent(self, name, task, messages):
        return {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": name, self.own[0]: task["user"]}

    def answered(self, text, task):
        return {self.own[1]: text} if text else {}

    def ask(self, task, messages, body):
        return {"gen_ai.operation.name": "chat", "gen_ai.provider.name": PROVIDERS[task["api"]], "gen_ai.request.model": task["model"]}

    def answer(self, task, message, chunks):
        return {"gen_ai.usage.input_tokens": 40, "gen_ai.usage.output_tokens": 12, "gen_ai.response.finish_reasons": [finish(message)]}

    def tool(self, call_id, name, args, text):
        return {"gen_ai.operation.name": "execute_tool", self.t[0]: name, self.t[1]: text} | ({"gen_ai.tool.call.id": call_id} if call_id else {})

    def returned(self, name, result, told):
        return {self.t[2]: told}


class Langfuse(Profile):
    """Langfuse's keys by hand, as its documents tell those who send OpenTelemetry."""

    def draw(self):
        self.p, self.gen = self.r.choice(["langfuse.observation.", "langfuse."]), self.r.random() < 0.4

    def names(self, kind, name, task):
        return {"agent": "handle-message", "llm": "llm-call", "tool": name, "step": f"turn-{name}"}[kind]

    def agent(self, name, task, messages):
        return {"langfuse.trace.name": "chat", "langfuse.trace.input": task["user"], "langfuse.observation.type": "agent", "langfuse.session.id": "s-1", "langfuse.observation.input": task["user"]}

    def answered(self, text, task):
        return {"langfuse.trace.output": text or "", "langfuse.observation.output": text or ""}

    def ask(self, task, messages, body):
        text = compact([self.messages(m) for m in messages])
        return {"langfuse.observation.type": "generation"} | ({"gen_ai.prompt": text, "gen_ai.request.model": task["model"]} if self.gen else {"langfuse.observation.input": text, "langfuse.observation.model.name": task["model"]})

    def answer(self, task, message, chunks):
        text = compact(self.messages(message)) if message["calls"] else message["text"]
        return {"gen_ai.completion" if self.gen else "langfuse.observation.output": text}

    def tool(self, call_id, name, args, text):
        return {"langfuse.observation.type": "tool", "langfuse.observation.input": text}

    def returned(self, name, result, told):
        return {"langfuse.observation.output": told}

    def failed(self, name, error):
        return {"langfuse.observation.level": "ERROR", "langfuse.observation.status_message": error}


class Traceloop(Profile):
    """The keys of Traceloop's decorators and prompts, by hand, with a decorator's way of writing what went in."""

    scope = "traceloop.tracer"

    def draw(self):
        self.form = self.r.choice(["args", "kwargs", "inputs"])

    def names(self, kind, name, task):
        return {"agent": f"{name}.agent", "llm": f"{PROVIDERS[task['api']]}.chat", "tool": f"{name}.tool", "step": f"turn_{name}.task"}[kind]

    def wrap(self, given):
        return compact({"args": {"args": [given], "kwargs": {}}, "kwargs": {"args": [], "kwargs": given if isinstance(given, dict) else {"question": given}}, "inputs": {"inputs": given}}[self.form])

    def agent(self, name, task, messages):
        return {"traceloop.span.kind": "agent", "traceloop.entity.name": name, "traceloop.entity.input": self.wrap(task["user"])}

    def answered(self, text, task):
        return {"traceloop.entity.output": compact({"outputs": text} if self.form == "inputs" else text)}

    def ask(self, task, messages, body):
        return {"llm.request.type": "chat", "gen_ai.system": PROVIDERS[task["api"]], "gen_ai.request.model": task["model"]} | FirstSemconv.flattened(self, "gen_ai.prompt", messages)

    def answer(self, task, message, chunks):
        return {"gen_ai.response.model": task["model"], "llm.usage.total_tokens": 52, "gen_ai.completion.0.finish_reason": finish(message)} | FirstSemconv.flattened(self, "gen_ai.completion", [message])

    def tool(self, call_id, name, args, text):
        return {"traceloop.span.kind": "tool", "traceloop.entity.name": name, "traceloop.entity.input": self.wrap(args)}

    def returned(self, name, result, told):
        return {"traceloop.entity.output": compact({"outputs": result} if self.form == "inputs" else result)}


class LangSmith(FirstSemconv):
    """What LangSmith's documents tell those who send OpenTelemetry."""

    def draw(self):
        super().draw()
        self.event = False

    def kind(self, kind):
        return {"langsmith.span.kind": kind}

    def agent(self, name, task, messages):
        return self.kind("chain") | {"gen_ai.prompt": compact({"question": task["user"]}), "langsmith.trace.name": name}

    def answered(self, text, task):
        return {"gen_ai.completion": compact({"answer": text})}

    def ask(self, task, messages, body):
        return self.kind("llm") | super().ask(task, messages, body)

    def tool(self, call_id, name, args, text):
        return self.kind("tool") | {"gen_ai.tool.name": name, "gen_ai.prompt": text}

    def returned(self, name, result, told):
        return {"gen_ai.completion": told}


class Mixed(Semconv):
    """Two conventions at once: what one backend shows and what another one wants."""

    def draw(self):
        super().draw()
        self.place = "span"

    def agent(self, name, task, messages):
        return super().agent(name, task, messages) | {"openinference.span.kind": "AGENT", "input.value": task["user"]}

    def answered(self, text, task):
        return super().answered(text, task) | {"output.value": text or ""}

    def ask(self, task, messages, body):
        return super().ask(task, messages, body) | {"openinference.span.kind": "LLM", "llm.model_name": task["model"], "input.value": compact(body)}

    def answer(self, task, message, chunks):
        return super().answer(task, message, chunks) | {"output.value": compact(self.messages(message))}

    def tool(self, call_id, name, args, text):
        return super().tool(call_id, name, args, text) | {"openinference.span.kind": "TOOL", "input.value": text}

    def returned(self, name, result, told):
        return super().returned(name, result, told) | {"output.value": told}


class Steps(Profile):
    """One span per turn of the loop that holds all: what the model said, and what the tools returned."""

    def draw(self):
        r = self.r
        self.p = r.choice(["agent.", "acme.", "step."])
        self.place = r.choice(["attributes", "json"])

    def names(self, kind, name, task):
        return {"agent": f"agent {name}", "llm": f"llm {task['model']}", "tool": f"{name}", "step": f"step {name}"}[kind]

    def agent(self, name, task, messages):
        return {self.p + "type": "agent", self.p + "task": task["user"], self.p + "tools": [t["name"] for t in task["tools"]]}

    def answered(self, text, task):
        return {self.p + "result": text or ""}

    def ask(self, task, messages, body):
        return {self.p + "type": "llm", self.p + "model": task["model"], self.p + "messages": compact([self.messages(m) for m in messages])}

    def answer(self, task, message, chunks):
        said = self.messages(message)
        return {self.p + "completion": message["text"]} | ({self.p + "tool_calls": compact(said["tool_calls"])} if message["calls"] else {})

    def tool(self, call_id, name, args, text):
        return {self.p + "type": "tool", self.p + "tool": name, self.p + "arguments": text} | ({self.p + "call_id": call_id} if call_id else {})

    def returned(self, name, result, told):
        return {self.p + "observation": told}


PROFILES = {"semconv": (Semconv, 4), "events": (Events128, 3), "first": (FirstSemconv, 3), "openinference": (OpenInference, 4), "io": (InputOutput, 4), "bodies": (Bodies, 3), "spanevents": (SpanEvents, 2), "logs": (Logs, 2),
            "texts": (Texts, 2), "bare": (Bare, 2), "langfuse": (Langfuse, 1), "traceloop": (Traceloop, 1), "langsmith": (LangSmith, 1), "mixed": (Mixed, 2), "steps": (Steps, 2)}


class Loop:
    """The agent of the team, with its instrumentation."""

    def __init__(self, seed, profile):
        self.r = r = random.Random(seed)
        resource = Resource.create({"service.name": f"assistant-{seed % 7}", "deployment.environment": "prod"})
        self.provider, self.logs = TracerProvider(resource=resource), LoggerProvider(resource=resource)
        self.provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(URL + "/v1/traces")))
        self.logs.add_log_record_processor(SimpleLogRecordProcessor(OTLPLogExporter(URL + "/v1/logs")))
        kind = PROFILES[profile][0]
        self.api = r.choice(kind.api)
        self.team = kind(r, self)
        self.steps, self.server = r.choice(kind.steps), r.choice(kind.server)
        self.parallel, self.ids = r.random() < 0.5, self.api != "gemini" and r.random() < 0.8
        self.told = r.choice(["json", "json", "str", "wrapped"])
        self.tracer, self.logger = self.provider.get_tracer(kind.scope), self.logs.get_logger(kind.scope)
        self.limit = r.choice(["error", "text"])

    def flush(self):
        self.provider.force_flush(), self.logs.force_flush()

    def log(self, name, attributes, body=None):
        extra = {} if name is None else {"event_name": name}
        self.logger.emit(LogRecord(timestamp=time.time_ns(), context=context.get_current(), severity_number=SeverityNumber.INFO, body=body, attributes=attributes, **extra))

    @contextlib.contextmanager
    def span(self, kind, name, task, given=lambda: {}, span_kind=INTERNAL):
        with self.tracer.start_as_current_span(self.team.names(kind, name, task), kind=span_kind, record_exception=False, set_status_on_exception=False) as span:
            try:
                span.set_attributes(given())
                yield span
            except Exception as e:
                if self.team.failure != "status":
                    span.record_exception(e)
                if self.team.failure != "exception" or kind != "tool":
                    span.set_status(trace.StatusCode.ERROR, str(e))
                raise

    def shown(self, call_id):
        return call_id if self.ids else None

    def ask(self, task, messages, tools):
        path, body = request(self.api, task, messages, tools)
        seen = [m | ({"id": self.shown(m["id"])} if "id" in m else {}) for m in messages]
        with self.span("llm", "", task, lambda: self.team.ask(task, seen, body), CLIENT) as span:
            chunks = post(path, body)
            message = understand(chunks)
            span.set_attributes(self.team.answer(task, message, chunks))
        return message

    def use(self, call_, functions, sub, task, at):
        call_id, name, text = call_
        token = context.attach(at)
        failed = result = None
        args = json.loads(text)
        try:
            with self.span("tool", name, task, lambda: self.team.tool(self.shown(call_id), name, args, text)) as span:
                try:
                    if sub and name == sub[0]:
                        result = self.run(task | {"system": sub[2], "user": args["question"], "history": [], "max_steps": 0}, sub[3], None, sub[0])
                    elif name not in functions:
                        raise KeyError(f"no tool {name}")
                    else:
                        result = functions[name](**args)
                    told = self.tells(result)
                    span.set_attributes(self.team.returned(name, result, told))
                except Exception as e:
                    span.set_attributes(self.team.failed(name, str(e.args[0] if e.args else e)))
                    raise
        except Exception as e:
            failed = str(e.args[0] if e.args else e)
            told = compact({"error": failed}) if self.told == "wrapped" else f"Error: {failed}"
        finally:
            context.detach(token)
        return {"role": "tool", "id": call_id, "name": name, "text": told, "failed": failed is not None}

    def tells(self, result):
        if self.told == "wrapped":
            return compact({"result": result})
        return result if isinstance(result, str) else str(result) if self.told == "str" else compact(result)

    def run(self, task, tools, sub, name):
        functions, schemas = {f.__name__: f for f in tools}, task["schemas"][name]
        messages = [{"role": "system", "text": task["system"]}] + [{"role": m["role"], "text": m["content"]} for m in task["history"]] + [{"role": "user", "text": task["user"]}]
        with contextlib.ExitStack() as spans:
            if self.server and name == "assistant":
                request_ = spans.enter_context(self.tracer.start_as_current_span("POST /v1/chat", kind=SERVER, record_exception=False))
                request_.set_attributes({"http.request.method": "POST", "http.route": "/v1/chat", "url.path": "/v1/chat"})
            root = spans.enter_context(self.span("agent", name, task, lambda: self.team.agent(name, task, messages)))
            for n in range(task["max_steps"] or 12):
                with self.span("step", str(n + 1), task, lambda: self.team.step(n)) if self.steps else contextlib.nullcontext():
                    message = self.ask(task, messages, schemas)
                    messages.append(message)
                    if not message["calls"]:
                        break
                    at = context.get_current()
                    if self.parallel:
                        with ThreadPoolExecutor(8) as pool:
                            messages += pool.map(lambda c: self.use(c, functions, sub, task, at), message["calls"])
                    else:
                        messages += [self.use(c, functions, sub, task, at) for c in message["calls"]]
            else:
                if self.limit == "error":
                    raise RuntimeError("too many steps")
                message = {"text": "I had to stop after too many steps."}
            root.set_attributes(self.team.answered(message["text"], task))
            return message["text"]


def run(seed, profile, scenarios):
    loop = Loop(seed, profile)

    def agent(task, tools, sub):
        given = task.get("sub")
        schemas = {"assistant": list(task["tools"]) + ([{k: given[k] for k in ("name", "description", "parameters")}] if given else []), given["name"] if given else "": given["tools"] if given else []}
        return loop.run(task | {"schemas": schemas, "api": loop.api}, tools, sub, "assistant")

    main(agent, f"team-{profile}-{seed}", {"chat": "gpt-4o-mini", "anthropic": "claude-sonnet-4-5", "gemini": "gemini-2.5-flash"}[loop.api], loop.flush, scenarios)


if __name__ == "__main__":
    first, _, last = sys.argv[1].partition("-")
    weighted = [name for name, (_, weight) in PROFILES.items() for _ in range(weight)]
    for seed in range(int(first), int(last or first) + 1):
        r = random.Random(seed * 7919)
        profile = weighted[seed % len(weighted)]
        if os.environ.get("DRAW"):
            print(f"team-{profile}-{seed}")
            continue
        names = call("/scenarios")
        run(seed, profile, sys.argv[2:] or [n for i, n in enumerate(names) if r.sample(range(100), 100)[0] % 2 == 0])
