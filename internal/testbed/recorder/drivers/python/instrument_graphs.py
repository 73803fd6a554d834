# Copyright The tapedeck Authors
# SPDX-License-Identifier: Apache-2.0
"""Instrumentations of agent frameworks, set up as their documents show; content is captured. `setup(NAME, FRAMEWORK)` answers (flush, extra): extra is what the
framework is handed beside (a callback of LangChain), or None."""

import importlib
import os

from recorder import URL

SINK = URL + "/v1/traces"
OPENINFERENCE = {"langchain": "langchain.LangChainInstrumentor", "llamaindex": "llama_index.LlamaIndexInstrumentor", "haystack": "haystack.HaystackInstrumentor",
                 "agno": "agno.AgnoInstrumentor", "dspy": "dspy.DSPyInstrumentor", "adk": "google_adk.GoogleADKInstrumentor", "openai": "openai.OpenAIInstrumentor"}
TRACELOOP = {"langchain": "langchain.LangchainInstrumentor", "llamaindex": "llamaindex.LlamaIndexInstrumentor", "haystack": "haystack.HaystackInstrumentor",
             "agno": "agno.AgnoInstrumentor", "openai": "openai.OpenAIInstrumentor"}


def provider():
    """The tracer provider of the process, with an exporter per span."""
    from opentelemetry import trace
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor

    made = TracerProvider()
    made.add_span_processor(SimpleSpanProcessor(OTLPSpanExporter(SINK)))
    trace.set_tracer_provider(made)
    return made


def load(package, path):
    module, name = path.split(".")
    return getattr(importlib.import_module(f"{package}.{module}"), name)()


def none(framework):
    return (lambda: None), None


def otel(framework):
    """A provider and nothing else: the framework's own spans."""
    os.environ.setdefault("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "true")
    return provider().force_flush, None


def openinference(framework):
    made = provider()
    load("openinference.instrumentation", OPENINFERENCE[framework]).instrument(tracer_provider=made)
    return made.force_flush, None


def traceloop(framework):
    made = provider()
    load("opentelemetry.instrumentation", TRACELOOP[framework]).instrument(tracer_provider=made)
    return made.force_flush, None


def traceloopsdk(framework):
    os.environ.update(TRACELOOP_TELEMETRY="false", TRACELOOP_METRICS_ENABLED="false")
    from traceloop.sdk import Traceloop

    Traceloop.init(app_name="agent", api_endpoint=URL, disable_batch=True)
    return forced(), None


def openlit(framework):
    import openlit as library

    library.init(otlp_endpoint=URL, disable_batch=True, disable_metrics=True, application_name="agent")
    return (lambda: None), None


def langfuse(framework):
    os.environ.update(LANGFUSE_PUBLIC_KEY="pk-lf-local", LANGFUSE_SECRET_KEY="sk-lf-local", LANGFUSE_HOST=URL, LANGFUSE_BASE_URL=URL)
    from langfuse import get_client

    client, extra = get_client(), None
    if framework == "langchain":
        from langfuse.langchain import CallbackHandler

        extra = CallbackHandler()
    elif framework in OPENINFERENCE:
        load("openinference.instrumentation", OPENINFERENCE[framework]).instrument()
    return client.flush, extra


def langsmith(framework):
    os.environ.update(LANGSMITH_TRACING="true", LANGSMITH_OTEL_ENABLED="true", LANGSMITH_OTEL_ONLY="true", LANGSMITH_API_KEY="local", LANGSMITH_ENDPOINT=URL)
    made = provider()
    from langchain_core.tracers.langchain import wait_for_all_tracers

    return (lambda: (wait_for_all_tracers(), made.force_flush())), None


def logfire(framework):
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor

    if framework == "langchain":
        os.environ.update(LANGSMITH_OTEL_ENABLED="true", LANGSMITH_TRACING="true", LANGSMITH_OTEL_ONLY="true")
    import logfire as library

    library.configure(send_to_logfire=False, console=False, additional_span_processors=[SimpleSpanProcessor(OTLPSpanExporter(SINK))])
    if framework == "adk":
        library.instrument_google_genai()
    elif framework != "langchain":
        library.instrument_openai()
    if framework == "langchain":
        from langchain_core.tracers.langchain import wait_for_all_tracers

        return (lambda: (wait_for_all_tracers(), library.force_flush())), None
    return library.force_flush, None


def mlflow(framework):
    os.environ.update(OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=SINK, OTEL_EXPORTER_OTLP_TRACES_PROTOCOL="http/protobuf", MLFLOW_ENABLE_OTLP_EXPORTER="true",
                      MLFLOW_TRACKING_URI="sqlite:////tmp/mlflow-recorder.db", MLFLOW_ENABLE_ASYNC_TRACE_LOGGING="false")
    import mlflow as library

    getattr(library, {"llamaindex": "llama_index"}.get(framework, framework)).autolog()
    from mlflow.tracing import provider as providers

    def flush():  # it sends in batches
        made = providers.provider.get() if hasattr(providers, "provider") else providers._MLFLOW_TRACER_PROVIDER
        if made:
            made.force_flush()

    return flush, None


def langtrace(framework):
    from langtrace_python_sdk import langtrace as library
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

    library.init(api_key="none", custom_remote_exporter=OTLPSpanExporter(SINK), batch=False)
    return forced(), None


def forced():
    """What flushes the provider that a library set."""
    from opentelemetry import trace

    return lambda: getattr(trace.get_tracer_provider(), "force_flush", lambda: None)()


def setup(name, framework):
    """A name that is not here is that of a family of packages."""
    if name not in globals():
        import instrument_packages
        import instrument_vendors

        if name in instrument_vendors.VENDORS:
            return instrument_vendors.start(name, framework)

        return instrument_packages.start(name, framework), None
    return globals()[name](framework)
