# Copyright The tapedeck Authors
# SPDX-License-Identifier: Apache-2.0
"""Instrumentations of the SDKs of providers, each set up as its documentation shows, with content. A function takes the name of the talk and returns a Kit."""

import functools
import importlib
import inspect
import os
import tempfile

from recorder import URL

os.environ.update(OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT="true", OTEL_EXPORTER_OTLP_ENDPOINT=URL, OTEL_EXPORTER_OTLP_PROTOCOL="http/protobuf", LITELLM_LOCAL_MODEL_COST_MAP="True")


class Kit:
    """flush sends what is held; root and tool decorate the function of the run and of a tool."""

    def __init__(self, flush=lambda: None, root=lambda f: f, tool=lambda f: f):
        self.flush, self.root, self.tool = flush, root, tool


def provider(*processors, logs=False):
    from opentelemetry import trace
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor

    made = TracerProvider()
    for processor in processors or [SimpleSpanProcessor(OTLPSpanExporter(URL + "/v1/traces"))]:
        made.add_span_processor(processor)
    trace.set_tracer_provider(made)
    if logs:
        from opentelemetry import _logs
        from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
        from opentelemetry.sdk._logs import LoggerProvider
        from opentelemetry.sdk._logs.export import SimpleLogRecordProcessor

        logger = LoggerProvider()
        logger.add_log_record_processor(SimpleLogRecordProcessor(OTLPLogExporter(endpoint=URL + "/v1/logs")))
        _logs.set_logger_provider(logger)
        try:
            from opentelemetry import _events
            from opentelemetry.sdk._events import EventLoggerProvider

            _events.set_event_logger_provider(EventLoggerProvider(logger))
        except ImportError:
            pass
    return made


def spanned(name, fill=lambda span, function, args, kwargs, result: None, before=lambda span, function, args, kwargs: None):
    """A decorator with a plain span, for instrumentations that have none of their own."""
    from opentelemetry import trace

    def decorate(function):
        called = name if isinstance(name, str) else name(function)
        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def run(*args, **kwargs):
                with trace.get_tracer("app").start_as_current_span(called) as span:
                    before(span, function, args, kwargs)
                    result = await function(*args, **kwargs)
                    fill(span, function, args, kwargs, result)
                    return result
        else:

            @functools.wraps(function)
            def run(*args, **kwargs):
                with trace.get_tracer("app").start_as_current_span(called) as span:
                    before(span, function, args, kwargs)
                    result = function(*args, **kwargs)
                    fill(span, function, args, kwargs, result)
                    return result

        return run

    return decorate


INSTRUMENTORS = {"openai": "openai.OpenAI", "anthropic": "anthropic.Anthropic", "gemini": "google_genai.GoogleGenAI", "bedrock": "bedrock.Bedrock", "mistral": "mistralai.MistralAI",
                 "groq": "groq.Groq", "litellm": "litellm.LiteLLM", "aisuite": "openai.OpenAI", "together": "together.Together", "cohere": "cohere.Cohere", "ollama": "ollama.Ollama", "googlegenerativeai": "google_generativeai.GoogleGenerativeAi", "deepseek": "openai.OpenAI", "portkey": "portkey.Portkey"}


def instrument(prefix, sdk, **more):
    module, name = INSTRUMENTORS[sdk.split("_")[0]].split(".")
    importlib.import_module(prefix + module)
    instrumentor = getattr(importlib.import_module(prefix + module), name + "Instrumentor")(**more)
    instrumentor.instrument()
    return instrumentor


def openinference(sdk):
    made = provider()
    instrument("openinference.instrumentation.", sdk)
    from openinference.instrumentation import OITracer, TraceConfig

    if not hasattr(OITracer, "chain"):
        return Kit(root=spanned("agent"))
    tracer = OITracer(made.get_tracer("app"), TraceConfig())
    return Kit(root=tracer.chain(name="assistant"), tool=tracer.tool)


def openinference_agent(sdk):
    """The root is of the kind AGENT."""
    made = provider()
    instrument("openinference.instrumentation.", sdk)
    from openinference.instrumentation import OITracer, TraceConfig

    tracer = OITracer(made.get_tracer("app"), TraceConfig())
    return Kit(root=tracer.agent(name="assistant"), tool=tracer.tool)


def openinference_plain(sdk):
    """Spans of the application's own around it, as OpenTelemetry's documentation shows."""
    provider()
    instrument("openinference.instrumentation.", sdk)
    return Kit(root=spanned("handle_request"), tool=spanned(lambda f: f"tool {f.__name__}"))


def traceloop(sdk):
    from traceloop.sdk import Traceloop
    from traceloop.sdk.decorators import tool, workflow

    os.environ["TRACELOOP_TELEMETRY"] = "false"
    Traceloop.init(app_name="app", api_endpoint=URL, api_key="none", disable_batch=True)
    return Kit(root=workflow(name="assistant"), tool=lambda f: tool(name=f.__name__)(f))


def openllmetry(sdk):
    """The instrumentation without Traceloop's SDK."""
    provider()
    names = {"gemini": "google_generativeai.GoogleGenerativeAi"}
    module, name = names.get(sdk, INSTRUMENTORS[sdk.split("_")[0]].replace("MistralAI", "MistralAi")).split(".")
    getattr(importlib.import_module("opentelemetry.instrumentation." + module), name + "Instrumentor")().instrument()
    return Kit(root=spanned("handle_request"), tool=spanned(lambda f: f"tool {f.__name__}"))


def tool_span(span, function, args, kwargs):
    import json

    span.update_name("execute_tool " + function.__name__)
    span.set_attributes({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": function.__name__, "gen_ai.tool.call.arguments": json.dumps(dict(inspect.signature(function).bind(*args, **kwargs).arguments))})


def tool_result(span, function, args, kwargs, result):
    import json

    span.set_attribute("gen_ai.tool.call.result", json.dumps(result))


def agent_span(span, function, args, kwargs):
    span.set_attributes({"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "assistant"})


CONTRIB = {"openai": "openai_v2.OpenAI", "gemini": "google_genai.GoogleGenAiSdk", "bedrock": "botocore.Botocore", "anthropic": "anthropic.Anthropic"}
GENAI = {"openai": "genai.openai.OpenAI", "anthropic": "genai.anthropic.Anthropic", "bedrock": "genai.bedrock.Bedrock", "gemini": "google_genai.GoogleGenAiSdk", "portkey": "genai.portkey.Portkey"}


def contrib(sdk, table=CONTRIB):
    """OpenTelemetry's own: what was said in log records, by those that do so without the newest conventions."""
    provider(logs=True)
    module, name = table[sdk.split("_")[0]].rsplit(".", 1)
    getattr(importlib.import_module("opentelemetry.instrumentation." + module), name + "Instrumentor")().instrument()
    return Kit(root=spanned("invoke_agent assistant", before=agent_span), tool=spanned("execute_tool", tool_result, tool_span))


def contrib_span(sdk):
    """With the newest conventions, what was said in the spans."""
    os.environ.update(OTEL_SEMCONV_STABILITY_OPT_IN="gen_ai_latest_experimental", OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT="SPAN_ONLY")
    return contrib(sdk)


def contrib_event(sdk):
    os.environ.update(OTEL_SEMCONV_STABILITY_OPT_IN="gen_ai_latest_experimental", OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT="EVENT_ONLY")
    return contrib(sdk)


def genai(sdk):
    os.environ.update(OTEL_SEMCONV_STABILITY_OPT_IN="gen_ai_latest_experimental", OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT="SPAN_ONLY")
    return contrib(sdk, GENAI)


def genai_event(sdk):
    os.environ.update(OTEL_SEMCONV_STABILITY_OPT_IN="gen_ai_latest_experimental", OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT="EVENT_ONLY")
    return contrib(sdk, GENAI)


def openlit(sdk):
    import openlit

    try:
        import tiktoken

        tiktoken.get_encoding = tiktoken.encoding_for_model = lambda name: type("Words", (), {"encode": lambda self, text, **more: text.split()})()  # else it asks the network for tables
    except ImportError:
        pass
    with tempfile.NamedTemporaryFile("w", suffix=".json") as prices:  # else it asks the network for them
        prices.write("{}")
        prices.flush()
        openlit.init(otlp_endpoint=URL, disable_batch=True, disable_metrics=True, pricing_json=prices.name)
    return Kit(root=openlit.trace, tool=openlit.trace)


def langfuse(sdk):
    """Langfuse's client for OpenAI; for others the instrumentation that its documentation names."""
    from langfuse import get_client, observe

    os.environ.update(LANGFUSE_PUBLIC_KEY="pk-lf-1", LANGFUSE_SECRET_KEY="sk-lf-1", LANGFUSE_HOST=URL, LANGFUSE_BASE_URL=URL)
    client = get_client()
    if sdk.startswith("openai"):
        import langfuse.openai  # noqa: F401
    elif sdk == "gemini":
        instrument("openinference.instrumentation.", sdk)
    elif sdk.startswith("anthropic"):
        instrument("opentelemetry.instrumentation.", sdk)
    return Kit(client.flush, observe(name="assistant"), observe(as_type="tool"))


def langfuse_bare(sdk):
    """The decorators alone."""
    kit = langfuse("none")
    return kit


def langsmith_bare(sdk):
    """The decorators alone."""
    os.environ.update(LANGSMITH_OTEL_ENABLED="true", LANGSMITH_TRACING="true", LANGSMITH_ENDPOINT=URL, LANGSMITH_API_KEY="none", LANGSMITH_OTEL_ONLY="true")
    from langsmith import traceable

    made = provider()

    def flush():
        from langsmith.run_trees import get_cached_client

        get_cached_client().flush()
        made.force_flush()

    return Kit(flush, traceable(name="assistant", run_type="chain"), traceable(run_type="tool"))


def openinference_bare(sdk):
    """The decorators alone."""
    made = provider()
    from openinference.instrumentation import OITracer, TraceConfig

    tracer = OITracer(made.get_tracer("app"), TraceConfig())
    return Kit(root=tracer.agent(name="assistant"), tool=tracer.tool)


def mlflow(sdk):
    os.environ.update(OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=URL + "/v1/traces", OTEL_EXPORTER_OTLP_TRACES_PROTOCOL="http/protobuf", MLFLOW_ENABLE_ASYNC_TRACE_LOGGING="false")
    import mlflow as m

    if sdk != "none":
        getattr(m, sdk.split("_")[0]).autolog()

    def flush():
        from mlflow.tracing import provider as p

        made = p.provider.get() if hasattr(p, "provider") else p._MLFLOW_TRACER_PROVIDER
        if made:
            made.force_flush()

    return Kit(flush, m.trace(name="assistant", span_type="AGENT"), m.trace(span_type="TOOL"))


def mlflow_bare(sdk):
    return mlflow("none")


def logfire(sdk):
    os.environ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"] = URL + "/v1/traces"
    import logfire as l

    l.configure(send_to_logfire=False, service_name="app", console=False)
    name = {"gemini": "google_genai"}.get(sdk, sdk.split("_")[0])
    getattr(l, "instrument_" + name)()
    return Kit(l.force_flush, l.instrument("assistant"), lambda f: l.instrument(f"tool {f.__name__}", record_return=True)(f))


def langsmith(sdk):
    os.environ.update(LANGSMITH_OTEL_ENABLED="true", LANGSMITH_TRACING="true", LANGSMITH_ENDPOINT=URL, LANGSMITH_API_KEY="none", LANGSMITH_OTEL_ONLY="true")
    from langsmith import Client, traceable, wrappers

    made, client = provider(), Client()
    import sdk_openai

    wrap, talk = (wrappers.wrap_openai, sdk_openai.openai_chat) if sdk.startswith("openai") else (wrappers.wrap_anthropic, None)
    if talk:
        connect = talk.connect
        talk.connect = lambda self, asynchronous: wrap(connect(self, asynchronous))
    else:
        import anthropic

        for name in ("Anthropic", "AsyncAnthropic"):
            setattr(anthropic, name, lambda *a, make=getattr(anthropic, name), **k: wrap(make(*a, **k)))

    def flush():
        client.flush()
        from langsmith.run_trees import get_cached_client

        get_cached_client().flush()
        made.force_flush()

    return Kit(flush, traceable(name="assistant", run_type="chain"), traceable(run_type="tool"))


def langtrace(sdk):
    from langtrace_python_sdk import langtrace as l
    from langtrace_python_sdk import with_langtrace_root_span
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

    l.init(custom_remote_exporter=OTLPSpanExporter(URL + "/v1/traces"), batch=False)
    return Kit(root=with_langtrace_root_span("assistant"), tool=with_langtrace_root_span("tool"))


def langwatch(sdk):
    import langwatch as l

    kind = {"openai": "openai.OpenAI", "anthropic": "anthropic.Anthropic", "litellm": "litellm.LiteLLM"}[sdk.split("_")[0]].split(".")
    instrumentor = getattr(importlib.import_module("openinference.instrumentation." + kind[0]), kind[1] + "Instrumentor")()
    l.setup(api_key="none", endpoint_url=URL, instrumentors=[instrumentor])
    return Kit(force, l.trace(name="assistant"), lambda f: l.span(type="tool")(f))


def force():
    from opentelemetry import trace

    flush = getattr(trace.get_tracer_provider(), "force_flush", None)
    if flush:
        flush()


def laminar(sdk):
    from lmnr import Laminar, observe

    more = {"force_http": True} if "force_http" in inspect.signature(Laminar.initialize).parameters else {}
    Laminar.initialize(project_api_key="none", base_url=URL, http_port=int(URL.rsplit(":", 1)[1]), disable_batch=True, **more)
    return Kit(Laminar.flush, observe(name="assistant"), lambda f: observe(span_type="TOOL")(f))


def agentops(sdk):
    import agentops as a

    a.init(api_key="00000000-0000-0000-0000-000000000000", endpoint=URL, exporter_endpoint=URL + "/v1/traces", auto_start_session=False, fail_safe=True)
    return Kit(force, a.trace(name="assistant") if hasattr(a, "trace") else a.session, lambda f: a.tool(f))


def keywordsai(sdk):
    from keywordsai_tracing import KeywordsAITelemetry
    from keywordsai_tracing.decorators import tool, workflow

    made = KeywordsAITelemetry(app_name="app", api_key="none", base_url=URL, is_batching_enabled=False)
    return Kit(made.flush, workflow(name="assistant"), lambda f: tool(name=f.__name__)(f))


def patronus(sdk):
    import patronus as p

    module, name = INSTRUMENTORS[sdk.split("_")[0]].split(".")
    instrumentor = getattr(importlib.import_module("openinference.instrumentation." + module), name + "Instrumentor")()
    made = p.init(api_key="none", api_url=URL, otel_endpoint=URL, otel_exporter_otlp_protocol="http/protobuf", integrations=[instrumentor])
    return Kit(made.tracer_provider.force_flush if hasattr(made, "tracer_provider") else force, p.traced("assistant"), p.traced())


def phoenix(sdk):
    """Phoenix's register with the decorators of its tracer."""
    os.environ.update(PHOENIX_COLLECTOR_ENDPOINT=URL, PHOENIX_CLIENT_HEADERS="api_key=none")
    from phoenix.otel import register

    made = register(endpoint=URL + "/v1/traces", protocol="http/protobuf", batch=False, verbose=False)
    instrument("openinference.instrumentation.", sdk)
    tracer = made.get_tracer("app")
    return Kit(made.force_flush, tracer.agent(name="assistant"), tracer.tool)


def monocle(sdk):
    os.environ["MONOCLE_EXPORTER"] = "otlp"
    from monocle_apptrace.instrumentation.common.instrumentor import setup_monocle_telemetry
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor

    setup_monocle_telemetry(workflow_name="app", span_processors=[SimpleSpanProcessor(OTLPSpanExporter(URL + "/v1/traces"))])
    from monocle_apptrace.instrumentation.common.method_wrappers import monocle_trace_method

    return Kit(force, monocle_trace_method(span_name="assistant"), monocle_trace_method())


def azure_tracing(sdk):
    """Azure's own tracing of its SDK for models."""
    os.environ["AZURE_TRACING_GEN_AI_CONTENT_RECORDING_ENABLED"] = "true"
    provider(logs=True)
    from azure.ai.inference.tracing import AIInferenceInstrumentor
    from azure.core.settings import settings

    settings.tracing_implementation = "opentelemetry"
    AIInferenceInstrumentor().instrument()
    return Kit(root=spanned("handle_request"), tool=spanned(lambda f: f"tool {f.__name__}"))


def elastic(sdk):
    provider(logs=True)
    from opentelemetry.instrumentation.openai import OpenAIInstrumentor

    OpenAIInstrumentor().instrument()
    return Kit(root=spanned("invoke_agent assistant", before=agent_span), tool=spanned("execute_tool", tool_result, tool_span))


def traceai(sdk):
    """Future AGI."""
    made = provider()
    name = {"openai": "OpenAI", "anthropic": "Anthropic", "portkey": "Portkey"}[sdk.split("_")[0]]
    getattr(importlib.import_module("traceai_" + name.lower()), name + "Instrumentor")().instrument(tracer_provider=made)
    from fi_instrumentation import FITracer

    tracer = FITracer(made.get_tracer("app"))
    return Kit(made.force_flush, tracer.agent(name="assistant"), tracer.tool)


def netra(sdk):
    os.environ.update(NETRA_OTLP_ENDPOINT=URL, NETRA_API_KEY="none")
    from netra import Netra
    from netra.decorators import task, workflow

    Netra.init(app_name="app", disable_batch=True, trace_content=True)
    return Kit(force, workflow(name="assistant"), lambda f: task(name=f.__name__)(f))


def braintrust(sdk):
    """Braintrust's processor, which keeps the spans that it takes for those of AI, behind OpenInference's instrumentation."""
    from braintrust.otel import BraintrustSpanProcessor

    os.environ.update(BRAINTRUST_API_KEY="none", BRAINTRUST_API_URL=URL, BRAINTRUST_PARENT="project_name:app")
    made = provider(BraintrustSpanProcessor(filter_ai_spans=True))
    instrument("openinference.instrumentation.", sdk)
    return Kit(made.force_flush, spanned("handle_request"), spanned(lambda f: f"tool {f.__name__}"))
