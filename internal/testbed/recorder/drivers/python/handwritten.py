# Copyright The tapedeck Authors
# SPDX-License-Identifier: Apache-2.0
"""Instrumentations that nobody knows: every seed draws one, choice by choice, as a platform team writes it by hand around its own loop on a provider's HTTP API.

    RECORDER=http://127.0.0.1:PORT python handwritten.py FIRST-LAST [SCENARIO ...]

The group of a seed is hand-SEED. Without scenarios each seed draws a third of them. DRAW=1 prints the choices of the seeds instead of running anything.
"""

import contextlib
import json
import os
import random
import sys
import time
from concurrent.futures import ThreadPoolExecutor

from opentelemetry import trace
from opentelemetry._logs import LogRecord
from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import SimpleLogRecordProcessor
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

from handwritten_forms import Messages, answered_as, asked_as, openinference_messages, seen, written
from providers import compact, post, request, understand
from recorder import URL, call, main

# --- What is drawn: every choice with its values, as often in the list as it is likely. --------------------------------------------------------------------

CHOICES = {
    "api": ["chat", "chat", "anthropic", "gemini"],
    "keys": ["semconv", "old", "own", "own", "own", "own", "openinference", "langfuse", "mlflow", "bare", "blob", "foreign"],
    "namespace": ["acme", "agent", "platform.ai", "x-agent", "contoso_copilot", "trace", "assistant.sdk", "genie"],
    "style": ["dot", "dot", "snake", "camel"],
    "tongue": ["de", "es", "zh"],
    "form": ["native", "native", "openai", "semconv", "words", "words", "transcript"],
    "place": ["attributes", "attributes", "attributes", "events", "event", "logs", "split"],
    "record": ["map", "text", "attributes"],
    "encoding": ["json", "json", "json", "json", "flat", "repr"],
    "limit": [0, 0, 0, 0, 0, 4000, 1200],
    "mark": ["...", "... [truncated]", "…", "...<truncated 1234 chars>"],
    "window": ["whole", "whole", "whole", "delta", "last"],
    "system": ["message", "message", "attribute", "root"],
    "tree": ["root", "root", "root", "steps", "steps", "apart", "linked", "below", "server", "flat"],
    "tools": ["function", "execute", "colon", "dotted", "mcp", "none"],
    "kind": ["span.kind", "type", "operation", "own", "none", "none"],
    "kinds": ["plain", "upper", "long"],
    "ids": ["kept", "kept", "renamed", "dropped"],
    "args": ["text", "value", "repr", "wrapped"],
    "envelope": ["none", "none", "none", "result", "ok", "content", "status", "text"],
    "told": ["json", "json", "str", "wrapped"],
    "failure": ["status", "exception", "attribute", "nothing", "result"],
    "session": ["id", "id", "none"],
    "model": ["span", "span", "request", "root"],
    "root": ["text", "text", "object", "messages", "none", "input"],
    "answer": ["message", "message", "text", "list"],
    "chunks": ["none", "none", "deltas", "raw"],
    "twice": ["none", "none", "none", "none", "openinference", "wrapper", "attempts", "http"],
    "usage": ["nested", "flat", "none"],
    "clock": ["fine", "fine", "fine", "fine", "milliseconds", "milliseconds", "seconds"],
    "parallel": [False, True],
    "limit_is": ["error", "text", "empty"],
}
WORDS = {  # the words of a team for what it records
    "input": ["input", "request", "prompt", "messages", "query", "in", "payload"], "output": ["output", "response", "completion", "answer", "reply", "out", "generated"],
    "args": ["args", "arguments", "input", "params", "kwargs", "request"], "result": ["result", "output", "response", "return_value", "observation", "returned"],
    "id": ["id", "call_id", "ref", "invocation_id"], "name": ["name", "tool", "function"], "llm": ["llm", "model", "generation", "chat", "step"], "tool": ["tool", "function", "action"],
    "agent": ["agent", "run", "workflow", "task"], "role": ["role", "role", "type", "author", "speaker", "from"], "text": ["content", "text", "value", "body"],
    "calls": ["tool_calls", "actions", "toolRequests", "function_calls"], "assistant": ["assistant", "ai", "model", "agent", "bot"], "human": ["user", "user", "human"],
    "toolrole": ["tool", "function", "observation"], "session": ["session_id", "session.id", "conversation_id", "thread_id", "chat.id"],
}
TONGUES = {
    "de": dict(input="eingabe", output="ausgabe", args="argumente", result="ergebnis", id="aufruf_id", name="name", llm="modellaufruf", tool="werkzeug", agent="lauf", model="modell", system="anweisung"),
    "es": dict(input="entrada", output="salida", args="argumentos", result="resultado", id="llamada_id", name="nombre", llm="modelo", tool="herramienta", agent="agente", model="modelo", system="instrucciones"),
    "zh": dict(input="输入", output="输出", args="参数", result="结果", id="调用编号", name="名称", llm="模型", tool="工具", agent="智能体", model="模型", system="系统提示"),
}


def draw(seed):
    r = random.Random(seed)
    d = {name: r.choice(values) for name, values in CHOICES.items()}
    d["words"] = {name: r.choice(values) for name, values in WORDS.items()}
    d["seed"], d["shuffled"] = seed, r.sample(range(100), 100)
    if d["window"] != "whole" and d["system"] == "message" or d["system"] == "root" and d["tree"] in ("apart", "linked", "flat"):
        d["system"] = "attribute"  # else nothing would hold it
    return type("Drawn", (), d)


# --- Keys: under which key a value stands. A slot is (kind of span, what). ------------------------------------------------------------------------------------

FIXED = {
    "semconv": {"llm.input": "gen_ai.input.messages", "llm.output": "gen_ai.output.messages", "agent.input": "gen_ai.input.messages", "agent.output": "gen_ai.output.messages",
                "system": "gen_ai.system_instructions", "model": "gen_ai.request.model", "tool.args": "gen_ai.tool.call.arguments", "tool.result": "gen_ai.tool.call.result",
                "tool.name": "gen_ai.tool.name", "tool.id": "gen_ai.tool.call.id"},
    "old": {"llm.input": "gen_ai.prompt", "llm.output": "gen_ai.completion", "agent.input": "gen_ai.prompt", "agent.output": "gen_ai.completion", "system": "gen_ai.system_prompt",
            "model": "gen_ai.request.model", "tool.args": "gen_ai.tool.args", "tool.result": "gen_ai.tool.result", "tool.name": "gen_ai.tool.name", "tool.id": "gen_ai.tool.call.id"},
    "openinference": {"llm.input": "llm.input_messages", "llm.output": "llm.output_messages", "input": "input.value", "output": "output.value", "args": "input.value",
                      "result": "output.value", "model": "llm.model_name", "tool.name": "tool.name", "tool.id": "tool_call.id"},
    "langfuse": {"input": "langfuse.observation.input", "output": "langfuse.observation.output", "args": "langfuse.observation.input", "result": "langfuse.observation.output",
                 "model": "langfuse.observation.model.name"},
    "mlflow": {"input": "mlflow.spanInputs", "output": "mlflow.spanOutputs", "args": "mlflow.spanInputs", "result": "mlflow.spanOutputs"},
    "bare": {"input": "input", "output": "output", "args": "input", "result": "output", "name": "tool.name"},
}


def key(d, kind, what):
    fixed = FIXED.get(d.keys, {})
    if f"{kind}.{what}" in fixed or what in fixed:
        return fixed.get(f"{kind}.{what}", fixed.get(what))
    words = TONGUES[d.tongue] if d.keys == "foreign" else d.words
    path = [d.namespace, words.get(kind, kind), words.get(what, what)]
    if d.style == "dot":
        return ".".join(path)
    if d.style == "snake":
        return "_".join(path).replace(".", "_").replace("-", "_")
    return path[0] + "." + path[1] + path[2].title().replace("_", "")


def kind_of(d, kind):
    """The attribute that says what a span is, if there is one."""
    word = {"agent": d.words["agent"], "llm": d.words["llm"], "tool": d.words["tool"]}.get(kind, kind)
    word = {"plain": word, "upper": word.upper(), "long": {"llm": "llm_call", "tool": "tool_call", "agent": "agent_run"}.get(kind, word)}[d.kinds]
    if d.keys == "semconv":
        return {"gen_ai.operation.name": {"agent": "invoke_agent", "llm": "chat", "tool": "execute_tool"}.get(kind, kind)} if kind != "step" else {}
    if d.keys in ("openinference", "langfuse", "mlflow"):
        name = {"openinference": "openinference.span.kind", "langfuse": "langfuse.observation.type", "mlflow": "mlflow.spanType"}[d.keys]
        word = {"llm": "generation" if d.keys == "langfuse" else "LLM", "step": "CHAIN"}.get(kind, kind.upper())
        return {name: word.lower() if d.keys == "langfuse" else word}
    name = {"span.kind": "span.kind", "type": f"{d.namespace}.type", "operation": f"{d.namespace}.operation.name", "own": f"{d.namespace}.span.kind"}.get(d.kind)
    return {name: word} if name else {}


def span_name(d, kind, name):
    if kind == "tool":
        return {"execute": f"execute_tool {name}", "colon": f"tool: {name}", "dotted": f"tool.{name}", "mcp": f"tools/call {name}"}.get(d.tools, name)
    return {"llm": d.words["llm"] + ".call" if d.keys != "semconv" else f"chat {name}", "agent": f"{d.words['agent']} {name}", "step": f"step {name}"}.get(kind, f"{kind} {name}")


# --- Encoding and places --------------------------------------------------------------------------------------------------------------------------------------


def text_of(d, value):
    text = value if isinstance(value, str) else repr(value) if d.encoding == "repr" else compact(value)
    return text[: d.limit] + d.mark if d.limit and len(text) > d.limit else text


def flattened(prefix, value):
    if isinstance(value, dict | list) and value:
        out = {}
        for name, inner in value.items() if isinstance(value, dict) else enumerate(value):
            out |= flattened(f"{prefix}.{name}", inner)
        return out
    return {} if value is None else {prefix: value if isinstance(value, str | bool | int | float) and not (isinstance(value, int) and abs(value) >= 1 << 63) else compact(value)}


def attributes(d, kind, said):
    """What a span says, as attributes: a map from key to a scalar."""
    out = {}
    if d.keys == "blob":
        return {f"{d.namespace}.data": text_of(d, {d.words.get(what, what): value for what, value in said.items()})}
    for what, value in said.items():
        name = key(d, kind, what)
        if d.keys == "openinference" and kind == "llm" and what in ("input", "output") and isinstance(value, Messages):
            out |= openinference_messages(name, value.neutral)
        elif d.encoding == "flat" and isinstance(value, dict | list) and d.keys not in ("mlflow", "langfuse"):
            out |= flattened(name, value)
        else:
            out[name] = text_of(d, value)
    return out


class Recorder:
    """The instrumentation of one seed: spans, and what they say, in the places it chose."""

    def __init__(self, d):
        self.d = d
        resource = Resource.create({"service.name": f"hand-{d.seed}"})
        self.provider, self.logs = TracerProvider(resource=resource), LoggerProvider(resource=resource)
        self.provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(URL + "/v1/traces")))
        self.logs.add_log_record_processor(SimpleLogRecordProcessor(OTLPLogExporter(URL + "/v1/logs")))
        self.tracer, self.logger = self.provider.get_tracer(d.namespace + ".tracing"), self.logs.get_logger(d.namespace)
        self.other = self.provider.get_tracer("openinference.instrumentation.openai", "0.1.30")
        self.session, self.before, self.blobs = "", None, {}

    def flush(self):
        self.provider.force_flush(), self.logs.force_flush()

    def now(self):
        return time.time_ns() // {"fine": 1, "milliseconds": 10**6, "seconds": 10**9}[self.d.clock] * {"fine": 1, "milliseconds": 10**6, "seconds": 10**9}[self.d.clock]

    @contextlib.contextmanager
    def span(self, kind, name, parent, tracer=None, span_kind=trace.SpanKind.INTERNAL, named=None):
        d = self.d
        apart = d.tree in ("apart", "linked") and kind in ("llm", "tool") and not tracer
        context = trace.set_span_in_context(trace.INVALID_SPAN if parent is None or apart else parent)
        links = [trace.Link(self.before)] if apart and d.tree == "linked" and self.before else []
        span = (tracer or self.tracer).start_span(named or span_name(d, kind, name), context, span_kind, start_time=self.now(), links=links)
        if d.session == "id" or apart and d.tree == "apart":
            span.set_attribute(d.words["session"], self.session)
        if not tracer:
            span.set_attributes(kind_of(d, kind))
            self.before = span.get_span_context()
        try:
            yield span
        except Exception as e:
            if d.failure in ("status", "exception", "nothing") or tracer:
                span.set_status(trace.StatusCode.ERROR, str(e))
            if d.failure == "exception":
                span.record_exception(e)
            if d.failure == "attribute":
                span.set_attributes({"error": True, "error.message": str(e)})
            raise
        finally:
            span.end(self.now())

    def say(self, span, kind, **said):
        """Puts what a span says into the places of the instrumentation."""
        d, said = self.d, {what: value for what, value in said.items() if value is not None}
        small = {what: said[what] for what in ("name", "id", "model", "usage", "error") if what in said and d.keys != "blob"}
        large = {what: value for what, value in said.items() if what not in small}
        if d.keys == "blob" and d.place in ("attributes", "logs"):  # one for the whole span, written anew as the span learns more
            large = self.blobs[span] = self.blobs.get(span, {}) | large
            if d.place == "logs" and not {"output", "result"} & set(said):
                return
        span.set_attributes(attributes(d, kind, small))
        for what, value in large.items() if d.place != "event" and d.keys != "blob" else [("content", None)] if large else []:
            held = attributes(d, kind, {what: value} if value is not None else large)
            name = f"{d.namespace}.{kind}.{d.words.get(what, what)}"
            if d.place == "attributes" or d.place == "split" and what in ("input", "args"):
                span.set_attributes(held)
            elif d.place != "logs":
                span.add_event(name, held, self.now())
            else:
                body = value if value is not None else large
                record = {"map": dict(body=body if isinstance(body, dict | list) else str(body)), "text": dict(body=text_of(d, body)), "attributes": dict(attributes=held)}[d.record]
                context = trace.set_span_in_context(span)
                self.logger.emit(LogRecord(timestamp=time.time_ns(), context=context, event_name=name, **record))


# --- The loop of the team -------------------------------------------------------------------------------------------------------------------------------------


class Loop:
    def __init__(self, recorder):
        self.r, self.d = recorder, recorder.d

    def ask(self, task, messages, tools, parent):
        """One model call, with its span and whatever else reports it."""
        d, r = self.d, self.r
        path, body = request(d.api, task, messages, tools)
        with r.span("llm", task["model"], parent) as span:
            system = next((m["text"] for m in messages if m["role"] == "system"), None)
            model = task["model"] if d.model == "span" or d.model == "request" and d.form != "native" else None
            asked = asked_as(d, messages, body)
            if isinstance(asked, list):
                asked = Messages(asked)
                asked.neutral = seen(d, messages)
            r.say(span, "llm", input=asked, system=system if d.system == "attribute" else None, model=model)
            with contextlib.ExitStack() as inner:
                beside = None
                if d.twice in ("openinference", "wrapper", "http"):
                    beside = inner.enter_context(r.span("llm", "x", span, r.other if d.twice == "openinference" else r.tracer, trace.SpanKind.CLIENT,
                                                        {"openinference": "ChatCompletion", "wrapper": f"{d.namespace}.gateway", "http": "POST"}[d.twice]))
                if d.twice == "attempts":
                    with contextlib.suppress(ConnectionError), r.span("attempt", "1", span, r.tracer):
                        raise ConnectionError("connection reset by peer")
                    beside = inner.enter_context(r.span("attempt", "2", span, r.tracer))
                chunks = post(path, body)
                message = understand(chunks)
                answered = answered_as(d, message, chunks)
                if d.twice == "openinference":
                    beside.set_attributes({"openinference.span.kind": "LLM", "llm.model_name": task["model"]} | openinference_messages("llm.input_messages", messages)
                                          | openinference_messages("llm.output_messages", [message]))
                elif d.twice == "http":
                    beside.set_attributes({"http.request.method": "POST", "url.full": "https://api.example.com" + path, "http.response.status_code": 200})
                elif d.twice == "wrapper":
                    r.say(beside, "llm", input=asked, output=answered, model=task["model"])
            if d.chunks == "deltas" and len(chunks) > 1:
                for n, c in enumerate(chunks):
                    span.add_event("chunk", {"index": n, "data": compact(c)}, r.now())
            answered = Messages([answered]) if d.keys == "openinference" and d.form != "transcript" else answered
            if isinstance(answered, Messages):
                answered.neutral = [message]
            usage = {"nested": {"input_tokens": 40, "output_tokens": 12}, "flat": 52, "none": None}[d.usage]
            r.say(span, "llm", output=answered, usage=usage)
            return message, span

    def use(self, call_, functions, sub, task, parent):
        """One call of a tool, with its span; the message that tells the model what it returned."""
        d, r, (call_id, name, text) = self.d, self.r, call_
        args, result, failed, said = json.loads(text), None, None, {}
        with contextlib.ExitStack() as spans:
            span = None
            try:
                if d.tools != "none":
                    span = spans.enter_context(r.span("tool", name, parent, span_kind=trace.SpanKind.CLIENT if d.tools == "mcp" else trace.SpanKind.INTERNAL))
                    shown = {"text": text, "value": args, "repr": repr(args), "wrapped": {"tool": name, "input": args}}[d.args]
                    r.say(span, "tool", name=name if d.tools != "colon" else None, id=None if d.ids == "dropped" else call_id, args=shown)
                if sub and name == sub[0]:
                    result = self.run(task | {"system": sub[2], "user": args["question"], "history": [], "max_steps": 0}, sub[3], None, span or parent, sub[0])
                elif name not in functions:
                    raise KeyError(f"no tool {name}")
                elif d.tools == "mcp":
                    with r.span("tool", name, span, r.tracer, trace.SpanKind.SERVER, "tools/call " + name) as server:
                        server.set_attributes({"mcp.method.name": "tools/call", "rpc.system": "jsonrpc", "gen_ai.tool.name": name})
                        result = functions[name](**args)
                else:
                    result = functions[name](**args)
            except Exception as e:
                failed = str(e.args[0] if e.args else e)
                if span is not None and d.failure != "nothing":
                    span.set_status(trace.StatusCode.ERROR, failed) if d.failure in ("status", "exception") else span.set_attribute("error", True) if d.failure == "attribute" else None
                    span.record_exception(e) if d.failure == "exception" else None
            told = self.told(result) if failed is None else compact({"error": failed}) if d.told == "wrapped" else f"Error: {failed}"
            if span is not None:
                said = self.enveloped(result, told) if failed is None else {"error": failed} if d.failure == "result" else told
                r.say(span, "tool", result=said)
        return {"role": "tool", "id": call_id, "name": name, "text": told, "failed": failed is not None}

    def told(self, result):
        if self.d.told == "wrapped":
            return compact({"result": result})
        return result if isinstance(result, str) else str(result) if self.d.told == "str" else compact(result)

    def enveloped(self, result, told):
        return {"none": result if result is not None else "null", "result": {"result": result}, "ok": {"ok": True, "data": result}, "content": {"content": [{"type": "text", "text": told}], "isError": False},
                "status": {"status": "success", "output": result, "elapsed_ms": 3}, "text": told}[self.d.envelope]

    def run(self, task, tools, sub, parent, name):
        d, r = self.d, self.r
        schemas = task["schemas"][name]
        functions = {f.__name__: f for f in tools}
        messages = [{"role": "system", "text": task["system"]}] + [{"role": m["role"], "text": m["content"]} for m in task["history"]] + [{"role": "user", "text": task["user"]}]
        with contextlib.ExitStack() as spans:
            root = None
            if d.tree == "server" and parent is None:
                root = spans.enter_context(r.span("http", "POST /chat", parent, r.tracer, trace.SpanKind.SERVER, "POST /chat"))
                root.set_attributes({"http.request.method": "POST", "url.path": "/chat"})
            if d.tree not in ("apart", "linked", "flat"):
                root = spans.enter_context(r.span("agent", name, root or parent))
                given = {"text": task["user"], "object": {"question": task["user"], "history": task["history"]}, "messages": [written(d, m) for m in messages[1:]], "input": task["user"]}.get(d.root)
                r.say(root, "agent", input=given, system=task["system"] if d.system != "message" else None, model=task["model"] if d.model == "root" else None)
            elif parent is not None and d.tree != "flat":
                root = parent
            elif d.tree == "flat":  # a span of the program around it all that says nothing
                root = spans.enter_context(r.span("job", name, parent, r.tracer, named="handle_request"))
            for step in range(task["max_steps"] or 12):
                with contextlib.ExitStack() as inner:
                    at = inner.enter_context(r.span("step", str(step + 1), root)) if d.tree == "steps" else root
                    message, span = self.ask(task, messages, schemas, at)
                    messages.append(message)
                    if not message["calls"]:
                        break
                    at = span if d.tree == "below" else at
                    if d.parallel:
                        with ThreadPoolExecutor(8) as pool:
                            messages += pool.map(lambda c: self.use(c, functions, sub, task, at), message["calls"])
                    else:
                        messages += [self.use(c, functions, sub, task, at) for c in message["calls"]]
            else:
                if d.limit_is == "error":
                    raise RuntimeError("too many steps")
                message = {"text": "I had to stop after too many steps." if d.limit_is == "text" else None}
            if d.tree not in ("apart", "linked", "flat") and d.root not in ("none", "input"):
                r.say(root, "agent", output={"object": {"answer": message["text"], "steps": step + 1}}.get(d.root, message["text"]))
            return message["text"]


def instrument(d, scenarios):
    recorder = Recorder(d)
    loop = Loop(recorder)

    def agent(task, tools, sub):
        recorder.session, recorder.before = f"s-{random.randrange(1 << 40):x}", None
        given = call_schemas(task)
        return loop.run(task | {"schemas": given}, tools, sub, None, "assistant")

    model = {"chat": "gpt-4o-mini", "anthropic": "claude-sonnet-4-5", "gemini": "gemini-2.5-flash"}[d.api]
    main(agent, f"hand-{d.seed:03}", model, recorder.flush, scenarios)


def call_schemas(task):
    sub = task.get("sub")
    main_tools = list(task["tools"]) + ([{"name": sub["name"], "description": sub["description"], "parameters": sub["parameters"]}] if sub else [])
    return {"assistant": main_tools, sub["name"] if sub else "": sub["tools"] if sub else []}


if __name__ == "__main__":
    first, _, last = sys.argv[1].partition("-")
    for seed in range(int(first), int(last or first) + 1):
        drawn = draw(seed)
        if os.environ.get("DRAW"):
            print(seed, {name: getattr(drawn, name) for name in [*CHOICES, "words"]})
            continue
        names = call("/scenarios")
        instrument(drawn, sys.argv[2:] or [n for i, n in enumerate(names) if drawn.shuffled[i] % 3 == 0])
