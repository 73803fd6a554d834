# Copyright The tapedeck Authors
# SPDX-License-Identifier: Apache-2.0
"""What an application writes itself around its loop, whatever the instrumentation of its SDK: the style of its spans. A style is a function of (kind, name) that
decorates; kind is run, model or tool."""

import contextlib
import functools
import inspect
import json

STYLES = {}


def style(function):
    STYLES[function.__name__] = function
    return function


def around(opened):
    """A decorator of opened(kind, name, inputs), a context that gives what is called with the result (and with an error)."""

    def made(kind, name):
        def decorate(function):
            called = name or function.__name__

            def inputs(args, kwargs):
                return dict(inspect.signature(function).bind(*args, **kwargs).arguments)

            if inspect.iscoroutinefunction(function):

                @functools.wraps(function)
                async def run(*args, **kwargs):
                    with opened(kind, called, inputs(args, kwargs)) as done:
                        result = await function(*args, **kwargs)
                        done(result)
                        return result
            else:

                @functools.wraps(function)
                def run(*args, **kwargs):
                    with opened(kind, called, inputs(args, kwargs)) as done:
                        result = function(*args, **kwargs)
                        done(result)
                        return result

            return run

        return decorate

    return made


def written(value):
    return value if isinstance(value, str) else json.dumps(value, default=str)


def one(inputs):
    """What went in: the one argument, or all as an object."""
    return written(next(iter(inputs.values())) if len(inputs) == 1 else inputs)


def otel(fill):
    @contextlib.contextmanager
    def opened(kind, name, inputs):
        from opentelemetry import trace

        title, before, after = fill(kind, name, inputs)
        with trace.get_tracer("my_app").start_as_current_span(title, attributes=before) as span:
            yield lambda result: span.set_attributes(after(result))

    return around(opened)


@style
def bare(kind, name):
    """Names alone."""
    return otel(lambda kind, name, inputs: (name, {}, lambda result: {}))(kind, name)


@style
def http(kind, name):
    """The span of a web server around the run, and of the tools names alone."""

    def fill(kind, name, inputs):
        if kind == "run":
            return "POST /chat", {"http.request.method": "POST", "http.route": "/chat", "url.path": "/chat", "url.scheme": "http", "server.address": "127.0.0.1"}, lambda r: {"http.response.status_code": 200}
        return name, {}, lambda result: {}

    return otel(fill)(kind, name)


@style
def io(kind, name):
    """input and output."""
    return otel(lambda kind, name, inputs: (name, {"input": one(inputs)}, lambda result: {"output": written(result)}))(kind, name)


@style
def own(kind, name):
    """Words of the application's own."""

    def fill(kind, name, inputs):
        if kind == "tool":
            return "tool." + name, {"tool.name": name, "tool.args": json.dumps(inputs, default=str)}, lambda result: {"tool.result": written(result), "tool.success": True}
        if kind == "model":
            return "llm_call", {"llm.step": 1}, lambda result: {}
        return "agent.run", {"user.query": one(inputs)}, lambda result: {"agent.answer": written(result)}

    return otel(fill)(kind, name)


@style
def semconv(kind, name):
    """OpenTelemetry's conventions, by hand."""

    def fill(kind, name, inputs):
        if kind == "tool":
            before = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name, "gen_ai.tool.type": "function", "gen_ai.tool.call.arguments": json.dumps(inputs, default=str)}
            return "execute_tool " + name, before, lambda result: {"gen_ai.tool.call.result": written(result)}
        if kind == "model":
            return "step", {}, lambda result: {}
        said = lambda role, text: json.dumps([{"role": role, "parts": [{"type": "text", "content": text}]}])  # noqa: E731
        before = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "assistant", "gen_ai.input.messages": said("user", one(inputs))}
        return "invoke_agent assistant", before, lambda result: {"gen_ai.output.messages": said("assistant", written(result))}

    return otel(fill)(kind, name)


@style
def nocontent(kind, name):
    """OpenTelemetry's conventions by hand, without content: as most programs have them."""

    def fill(kind, name, inputs):
        if kind == "tool":
            return "execute_tool " + name, {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name}, lambda result: {}
        if kind == "model":
            return "step", {}, lambda result: {}
        return "invoke_agent assistant", {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "assistant"}, lambda result: {}

    return otel(fill)(kind, name)


@style
def inference(kind, name):
    """OpenInference's conventions, by hand."""
    kinds = {"run": "AGENT", "model": "CHAIN", "tool": "TOOL"}

    def fill(kind, name, inputs):
        text = one(inputs) if kind != "tool" else json.dumps(inputs, default=str)
        before = {"openinference.span.kind": kinds[kind], "input.value": text, **({"tool.name": name} if kind == "tool" else {})}
        return name, before, lambda result: {"output.value": written(result)}

    return otel(fill)(kind, name)


@style
def logfire(kind, name):
    @contextlib.contextmanager
    def opened(kind, name, inputs):
        import logfire as l

        if kind == "tool":
            with l.span("running tool {tool_name}", tool_name=name, arguments=inputs) as span:
                yield lambda result: span.set_attribute("result", result)
        else:
            with l.span(name, **({"question": one(inputs)} if kind == "run" else {})) as span:
                yield lambda result: span.set_attribute("answer", result) if kind == "run" else None

    return around(opened)(kind, name)


@style
def langfuse(kind, name):
    kinds = {"run": "agent", "model": "span", "tool": "tool"}

    @contextlib.contextmanager
    def opened(kind, name, inputs):
        from langfuse import get_client

        with get_client().start_as_current_observation(as_type=kinds[kind], name=name, input=inputs if kind == "tool" else one(inputs)) as span:
            yield lambda result: span.update(output=result)

    return around(opened)(kind, name)


@style
def langfuse_span(kind, name):
    """Spans without a type, and the trace's own input and output."""

    @contextlib.contextmanager
    def opened(kind, name, inputs):
        from langfuse import get_client

        client = get_client()
        with client.start_as_current_observation(name=name) as span:
            if kind != "model":
                span.update(input=inputs)
            yield lambda result: span.update(output=result) if kind != "model" else None

    return around(opened)(kind, name)


@style
def mlflow(kind, name):
    kinds = {"run": "AGENT", "model": "CHAIN", "tool": "TOOL"}

    @contextlib.contextmanager
    def opened(kind, name, inputs):
        import mlflow as m

        with m.start_span(name=name, span_type=kinds[kind]) as span:
            span.set_inputs(inputs)
            yield span.set_outputs

    return around(opened)(kind, name)


@style
def langsmith_untyped(kind, name):
    from langsmith import traceable

    return traceable(name=name)


@style
def langwatch(kind, name):
    kinds = {"run": "agent", "model": "span", "tool": "tool"}

    @contextlib.contextmanager
    def opened(kind, name, inputs):
        import langwatch as l

        with (l.trace(name=name) if kind == "run" else l.span(name=name, type=kinds[kind])) as span:
            span.update(input=inputs if kind == "tool" else one(inputs))
            yield lambda result: span.update(output=result)

    return around(opened)(kind, name)


@style
def phoenix(kind, name):
    """The tracer of OpenInference as a context."""
    kinds = {"run": "agent", "model": "chain", "tool": "tool"}

    @contextlib.contextmanager
    def opened(kind, name, inputs):
        from openinference.instrumentation import OITracer, TraceConfig
        from opentelemetry import trace

        tracer = OITracer(trace.get_tracer_provider().get_tracer("my_app"), TraceConfig())
        with tracer.start_as_current_span(name, openinference_span_kind=kinds[kind]) as span:
            span.set_input(inputs if kind == "tool" else one(inputs))
            if kind == "tool":
                span.set_tool(name=name, parameters=inputs)
            yield lambda result: span.set_output(result if isinstance(result, str) else written(result))

    return around(opened)(kind, name)


@style
def phoenix_chain(kind, name):
    """Everything a chain."""
    from openinference.instrumentation import OITracer, TraceConfig
    from opentelemetry import trace

    return lambda f: OITracer(trace.get_tracer_provider().get_tracer("my_app"), TraceConfig()).chain(f, name=name)


@style
def traceloop_task(kind, name):
    """An agent with tasks, none said to be tools."""
    from traceloop.sdk.decorators import agent, task

    return {"run": agent(name=name)}.get(kind, task(name=name))


def model_function(instrumentation):
    """The decorator of a vendor for the function that calls the model."""
    if instrumentation.startswith("langfuse"):
        from langfuse import observe

        return observe(as_type="generation")
    if instrumentation.startswith("langsmith"):
        from langsmith import traceable

        return traceable(run_type="llm")
    if instrumentation.startswith("mlflow"):
        import mlflow as m

        return m.trace(span_type="CHAT_MODEL")
    if instrumentation.startswith("laminar"):
        from lmnr import observe

        return observe(span_type="LLM")
    if instrumentation.startswith("langwatch"):
        import langwatch as l

        return l.span(type="llm")
    if instrumentation.startswith("logfire"):
        import logfire as l

        return l.instrument("call_llm", record_return=True)
    if instrumentation.startswith("traceloop"):
        from traceloop.sdk.decorators import task

        return task(name="call_llm")
    from openinference.instrumentation import OITracer, TraceConfig
    from opentelemetry import trace

    return OITracer(trace.get_tracer_provider().get_tracer("my_app"), TraceConfig()).llm


def wrap_model(talk, instrumentation):
    """Puts a function of the program, with the vendor's decorator, around what asks the model."""
    completions = talk.client.chat.completions
    create = completions.create

    if talk.answers == "message":

        def call_llm(messages: list, model: str, tools: list | None = None):
            return create(messages=messages, model=model, **({"tools": tools} if tools else {})).choices[0].message
    else:

        def call_llm(messages: list, model: str, tools: list | None = None):
            return create(messages=messages, model=model, **({"tools": tools} if tools else {}))

    made = model_function(instrumentation)(call_llm)

    def ask(stream=False, **more):
        if stream:
            return create(stream=stream, **more)
        given = made(**more)
        return given if talk.answers != "message" else type("Answer", (), {"choices": [type("Choice", (), {"message": given})()]})()

    completions.create = ask
