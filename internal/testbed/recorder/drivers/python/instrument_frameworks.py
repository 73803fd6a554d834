# Copyright The tapedeck Authors
# SPDX-License-Identifier: Apache-2.0
"""Set-ups of instrumentations for frameworks of agents, by name; each as its own documents show it, with content. `start(name)` returns what flushes."""

import importlib
import os

from recorder import URL

os.environ.update({
    "OPENAI_API_KEY": "sk-none", "OPENAI_BASE_URL": URL + "/v1", "OPENAI_API_BASE": URL + "/v1", "ANTHROPIC_API_KEY": "none",
    "OTEL_EXPORTER_OTLP_ENDPOINT": URL, "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf", "OTEL_METRICS_EXPORTER": "none",
    "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": URL + "/v1/traces", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "http/protobuf", "OTEL_SERVICE_NAME": "agent",
    "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "true", "TRACELOOP_TELEMETRY": "false", "TRACELOOP_METRICS_ENABLED": "false",
    "LANGFUSE_PUBLIC_KEY": "pk-lf-none", "LANGFUSE_SECRET_KEY": "sk-lf-none", "LANGFUSE_HOST": URL, "LANGFUSE_BASE_URL": URL,
    "LOGFIRE_SEND_TO_LOGFIRE": "false", "CREWAI_DISABLE_TELEMETRY": "true", "CREWAI_TRACING_ENABLED": "false", "DO_NOT_TRACK": "1",
})


def provider():
    """A provider of spans and one of log records that send each at once."""
    from opentelemetry import _logs, trace
    from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk._logs import LoggerProvider
    from opentelemetry.sdk._logs.export import SimpleLogRecordProcessor
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor

    made = TracerProvider()
    made.add_span_processor(SimpleSpanProcessor(OTLPSpanExporter(URL + "/v1/traces")))
    trace.set_tracer_provider(made)
    logs = LoggerProvider()
    logs.add_log_record_processor(SimpleLogRecordProcessor(OTLPLogExporter(endpoint=URL + "/v1/logs")))
    _logs.set_logger_provider(logs)
    return made


def openinference(*packages):
    """Each package is NAME:CLASS of openinference.instrumentation.NAME."""
    made = provider()
    for package in packages:
        name, cls = package.split(":")
        getattr(importlib.import_module("openinference.instrumentation." + name), cls)().instrument(tracer_provider=made)
    return made.force_flush


def traceloop():
    from traceloop.sdk import Traceloop

    Traceloop.init(app_name="agent", api_endpoint=URL, disable_batch=True)
    from opentelemetry import trace

    return trace.get_tracer_provider().force_flush


def agentops():
    import agentops as sdk

    sdk.init(api_key="none", endpoint=URL, exporter_endpoint=URL + "/v1/traces", auto_start_session=True, fail_safe=True)
    from opentelemetry import trace

    return trace.get_tracer_provider().force_flush


def openlit():
    import openlit as sdk

    sdk.init(otlp_endpoint=URL, application_name="agent", environment="test", disable_batch=True, disable_metrics=True)
    from opentelemetry import trace

    return trace.get_tracer_provider().force_flush


def langfuse(*packages):
    """The client of Langfuse is the provider; packages as for openinference, or of Langfuse's own wrappers."""
    from langfuse import get_client

    client = get_client()
    for package in packages:
        name, cls = package.split(":")
        getattr(importlib.import_module("openinference.instrumentation." + name), cls)().instrument()
    return client.flush


def mlflow(flavor):
    importlib.import_module("mlflow." + flavor).autolog()
    from mlflow.tracing import provider as made

    get = made.provider.get if hasattr(made, "provider") else lambda: made._MLFLOW_TRACER_PROVIDER  # the second before 3.6
    return lambda: get() and get().force_flush()


def logfire(*what):
    """Each of what is X of logfire.instrument_X."""
    import logfire as sdk

    sdk.configure(send_to_logfire=False, console=False)
    for name in what:
        getattr(sdk, "instrument_" + name)()
    return sdk.force_flush


def monocle():
    from monocle_apptrace.instrumentation.common.instrumentor import setup_monocle_telemetry
    from opentelemetry import trace
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor

    setup_monocle_telemetry(workflow_name="app", span_processors=[SimpleSpanProcessor(OTLPSpanExporter(URL + "/v1/traces"))])
    return trace.get_tracer_provider().force_flush


def contrib(*packages):
    """OpenTelemetry's own; packages as for openinference."""
    made = provider()
    for package in packages:
        name, cls = package.split(":")
        getattr(importlib.import_module("opentelemetry.instrumentation." + name), cls)().instrument(tracer_provider=made)
    return made.force_flush


def own():
    """Nothing beside the telemetry that the framework has itself."""
    return provider().force_flush


def start(name, **packages):
    """name is the instrumentation, after which a driver may have written its own; packages says what each needs. One that is not here is that of the SDK below, or
    the family of packages of which the driver names the framework: `family="crewai"`."""
    given = packages.get(name, ())
    if name not in globals():
        import instrument_packages
        import instrument_vendors

        if "family" in packages and name in instrument_vendors.VENDORS:
            return instrument_vendors.start(name, packages["family"])[0]
        if "family" in packages and name in instrument_packages.FAMILIES:
            return instrument_packages.start(name, packages["family"])
        import instrument_sdk

        return getattr(instrument_sdk, name)(given or "openai").flush
    return globals()[name](*([given] if isinstance(given, str) else given))
