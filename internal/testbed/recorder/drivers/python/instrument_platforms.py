# Copyright The tapedeck Authors
# SPDX-License-Identifier: Apache-2.0
"""Platforms for applications with models whose SDKs write OpenTelemetry in ways of their own, set up as their documentation shows (see instrument_sdk.py)."""

import functools
import importlib
import inspect
import json
import os
import uuid

import sdk_openai
from instrument_sdk import Kit, force, instrument, provider, spanned
from recorder import URL


def exporter():
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

    return OTLPSpanExporter(URL + "/v1/traces")


def simple():
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor

    return SimpleSpanProcessor(exporter())


def agenta(sdk):
    os.environ["AGENTA_OTLP_ASYNC_EXPORT"] = "false"  # else spans come in threads, after the run
    import agenta as ag
    from opentelemetry.instrumentation.openai import OpenAIInstrumentor

    ag.init(host=URL, api_key="none")
    OpenAIInstrumentor().instrument()
    return Kit(force, ag.instrument(spankind="WORKFLOW"), ag.instrument(spankind="TOOL"))


def gentrace(sdk):
    from gentrace import init, interaction, traced

    init(api_key="none", base_url=URL)
    instrument("openinference.instrumentation.", sdk)
    return Kit(force, interaction(name="assistant", pipeline_id=str(uuid.UUID(int=1))), lambda f: traced(name=f.__name__)(f))


def honeyhive(sdk):
    os.environ.update(HH_API_KEY="none", HH_API_URL=URL)
    from honeyhive import HoneyHiveTracer, trace
    from openinference.instrumentation.openai import OpenAIInstrumentor

    tracer = HoneyHiveTracer.init(api_key="none", source="test", server_url=URL, session_id=str(uuid.UUID(int=1)), disable_batch=True)
    OpenAIInstrumentor().instrument(tracer_provider=tracer.provider)
    return Kit(tracer.provider.force_flush, trace(event_type="chain", event_name="assistant"), trace(event_type="tool"))


def wrapping(sdk, wrap):
    """Puts what the client is wrapped in around the clients that the talks connect."""
    module, names = (sdk_openai, None) if sdk.startswith("openai") else (importlib.import_module("anthropic"), ("Anthropic", "AsyncAnthropic"))
    if names is None:
        connect = module.openai_chat.connect
        module.openai_chat.connect = lambda self, asynchronous: wrap(connect(self, asynchronous))
    else:
        for name in names:
            setattr(module, name, lambda *a, make=getattr(module, name), **k: wrap(make(*a, **k)))


def judgeval(sdk):
    from judgeval import Tracer, wrap

    Tracer.init(project_name="app", api_key="none", organization_id="none", api_url=URL, span_processors=[simple()])
    wrapping(sdk, wrap)
    return Kit(force, Tracer.observe(span_type="agent"), Tracer.observe(span_type="tool"))


def atla(sdk):
    import atla_insights
    import atla_insights.span_processors as processors

    processors.OTEL_TRACES_ENDPOINT = URL + "/v1/traces"
    atla_insights.configure(token="none", verbose=False)
    getattr(atla_insights, "instrument_" + {"gemini": "google_genai"}.get(sdk, sdk.split("_")[0]))()
    return Kit(force, atla_insights.instrument("assistant"), atla_insights.tool)


def latitude(sdk):
    os.environ["LATITUDE_TELEMETRY_URL"] = URL
    from latitude_telemetry import Latitude, capture

    name = sdk.split("_")[0]
    made = Latitude(api_key="none", project="app", instrumentations={name: importlib.import_module(name)}, disable_batch=True)

    def root(function):
        return functools.wraps(function)(lambda *args: capture("assistant", lambda: function(*args), {"session_id": "s-1", "tags": ["beta"]}))

    return Kit(made.flush, root, spanned(lambda f: f"tool {f.__name__}"))


def respan(sdk):
    from respan_tracing import RespanTelemetry
    from respan_tracing.decorators import tool, workflow

    made = RespanTelemetry(app_name="app", api_key="none", base_url=URL + "/api", is_batching_enabled=False)
    made.add_processor(exporter=exporter(), is_batching_enabled=False)
    return Kit(made.flush, workflow(name="assistant"), lambda f: tool(name=f.__name__)(f))


def mirascope(sdk):
    from mirascope import ops

    ops.configure(tracer_provider=provider())
    getattr(ops, "instrument_" + {"gemini": "google_genai"}.get(sdk, sdk.split("_")[0]))()
    return Kit(force, ops.trace, ops.trace)


def azure_projects(sdk):
    """What Azure's SDK for projects records of OpenAI's client."""
    os.environ.update(AZURE_EXPERIMENTAL_ENABLE_GENAI_TRACING="true", AZURE_TRACING_GEN_AI_CONTENT_RECORDING_ENABLED="true")
    provider(logs=True)
    from azure.ai.projects.telemetry import AIProjectInstrumentor
    from azure.core.settings import settings

    settings.tracing_implementation = "opentelemetry"
    AIProjectInstrumentor().instrument()
    return Kit(root=spanned("handle_request"), tool=spanned(lambda f: f"tool {f.__name__}"))


def litellm_callback(sdk, name="otel", **variables):
    """LiteLLM's own callback for OpenTelemetry. It writes no content where the variable holds what older conventions took (true)."""
    if name != "otel":
        os.environ.pop("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", None)
    os.environ.update(OTEL_EXPORTER="otlp_http", OTEL_ENDPOINT=URL + "/v1/traces", **variables)
    provider()
    import litellm

    litellm.callbacks = [name]
    return Kit(settled, spanned("handle_request"), spanned(lambda f: f"tool {f.__name__}"))


def litellm_content(sdk):
    os.environ.pop("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", None)
    return litellm_callback(sdk)


def settled():
    import time

    time.sleep(0.3)  # callbacks run in threads of their own
    force()


def litellm_phoenix(sdk):
    return litellm_callback(sdk, "arize_phoenix", PHOENIX_COLLECTOR_HTTP_ENDPOINT=URL + "/v1/traces", PHOENIX_API_KEY="none", PHOENIX_PROJECT_NAME="app")


def litellm_langfuse(sdk):
    return litellm_callback(sdk, "langfuse_otel", LANGFUSE_PUBLIC_KEY="pk", LANGFUSE_SECRET_KEY="sk", LANGFUSE_OTEL_HOST=URL, LANGFUSE_HOST=URL)


def util_genai(sdk):
    """A program that uses OpenTelemetry's helpers for instrumentations itself, around OpenAI's client."""
    os.environ.update(OTEL_SEMCONV_STABILITY_OPT_IN="gen_ai_latest_experimental", OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=os.environ.get("CAPTURE", "SPAN_ONLY"))
    provider(logs=True)
    from opentelemetry.util.genai import types as t
    from opentelemetry.util.genai.handler import TelemetryHandler

    handler = TelemetryHandler(instrumentation_scope_name="my_app.genai")

    def parts(m):
        made = [t.TextPart(content=m["content"])] if m.get("content") and m["role"] != "tool" else []
        made += [t.ToolCallRequestPart(arguments=json.loads(c["function"]["arguments"] or "{}"), name=c["function"]["name"], id=c["id"]) for c in m.get("tool_calls") or []]
        return made + ([t.ToolCallResponsePart(response=m["content"], id=m["tool_call_id"])] if m["role"] == "tool" else [])

    ask = sdk_openai.openai_chat.ask

    async def asked(self, stream):
        seen = [m if isinstance(m, dict) else m.model_dump() for m in self.messages]
        with handler.inference("openai", request_model=self.more["model"]) as invocation:
            invocation.system_instruction = [t.TextPart(content=m["content"]) for m in seen if m["role"] == "system"]
            invocation.input_messages = [t.InputMessage(role=m["role"], parts=parts(m)) for m in seen if m["role"] != "system"]
            answer = await ask(self, stream)
            said = self.messages[-1]
            said = said if isinstance(said, dict) else said.model_dump()
            invocation.output_messages = [t.OutputMessage(role="assistant", parts=parts(said), finish_reason="tool_calls" if said.get("tool_calls") else "stop")]
        return answer

    sdk_openai.openai_chat.ask = asked

    def root(function):
        @functools.wraps(function)
        def run(question):
            with handler.invoke_local_agent(agent_name="assistant") as invocation:
                invocation.input_messages = [t.InputMessage(role="user", parts=[t.TextPart(content=question)])]
                said = function(question)
                invocation.output_messages = [t.OutputMessage(role="assistant", parts=[t.TextPart(content=said or "")], finish_reason="stop")]
                return said

        return run

    def tool(function):
        @functools.wraps(function)
        def run(*args, **kwargs):
            given = dict(inspect.signature(function).bind(*args, **kwargs).arguments)
            with handler.tool(function.__name__) as invocation:
                invocation.arguments = given
                result = function(*args, **kwargs)
                invocation.tool_result = result
                return result

        return run

    return Kit(force, root, tool)


def util_genai_event(sdk):
    os.environ["CAPTURE"] = "EVENT_ONLY"
    return util_genai(sdk)


def tracekit(sdk):
    """Coralogix."""
    made = provider()
    module, name = {"openai": "openai.OpenAI", "anthropic": "anthropic.Anthropic", "gemini": "gemini.Gemini"}[sdk.split("_")[0]].split(".")
    getattr(importlib.import_module("llm_tracekit." + module), name + "Instrumentor")().instrument(tracer_provider=made)
    return Kit(made.force_flush, spanned("handle_request"), spanned(lambda f: f"tool {f.__name__}"))


def traceai_any(sdk):
    """Future AGI's packages for other vendors."""
    made = provider()
    module, name = {"mistral": "mistralai.MistralAI", "gemini": "google_genai.GoogleGenAI", "groq": "groq.Groq", "bedrock": "bedrock.Bedrock", "litellm": "litellm.LiteLLM"}[sdk.split("_")[0]].split(".")
    getattr(importlib.import_module("traceai_" + module), name + "Instrumentor")().instrument(tracer_provider=made)
    from fi_instrumentation import FITracer

    tracer = FITracer(made.get_tracer("app"))
    return Kit(made.force_flush, tracer.agent(name="assistant"), tracer.tool)


def promptflow(sdk):
    """Prompt flow: its decorator around the run and the tools, its injection into OpenAI's client."""
    os.environ["PF_DISABLE_TRACING"] = "false"
    from promptflow.tracing import start_trace, trace

    start_trace()
    from opentelemetry import trace as api
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor

    made = api.get_tracer_provider()
    made.add_span_processor(SimpleSpanProcessor(OTLPSpanExporter(URL + "/v1/traces")))
    return Kit(made.force_flush, trace, trace)
