# Copyright The tapedeck Authors
# SPDX-License-Identifier: Apache-2.0
"""Packages of vendors for frameworks, each with a set-up of its own. `start(VENDOR, FRAMEWORK)` answers what flushes and what the framework is handed beside (a callback of LangChain), or None. VENDOR is one of VENDORS."""

import importlib
import os
import uuid

import instrument_packages
from recorder import URL

CLASSES = instrument_packages.CLASSES | {"langchain": "LangChainInstrumentor", "llamaindex": "LlamaIndexInstrumentor"}


def named(module, name):
    """The member of a module, whatever the case of its name."""
    module = importlib.import_module(module)
    return getattr(module, {n.lower(): n for n in dir(module)}[name.lower()])


def tracekit(framework):
    """Coralogix's packages."""
    os.environ["OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"] = "true"
    made = instrument_packages.provider()
    os.environ["OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"] = "true"
    name = {"adk": "google_adk"}.get(framework, framework)
    named("llm_tracekit." + name, CLASSES[framework])().instrument(tracer_provider=made)
    return made.force_flush, None


def adot(framework):
    """The instrumentations in AWS's distribution of OpenTelemetry."""
    made = instrument_packages.provider()
    os.environ["OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"] = "true"
    name = {"llamaindex": "llama_index"}.get(framework, framework)
    named("amazon.opentelemetry.distro.instrumentation." + name, CLASSES[framework])().instrument(tracer_provider=made, skip_dep_check=True)
    return made.force_flush, None


def fiddler(framework):
    from fiddler_langgraph import LangGraphInstrumentor
    from fiddler_otel import FiddlerClient
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor

    client = FiddlerClient(application_id=str(uuid.UUID(int=4 << 76 | 2 << 62)), api_key="none", url="http://127.0.0.1:1", otlp_enabled=False)
    client.get_tracer_provider().add_span_processor(SimpleSpanProcessor(OTLPSpanExporter(URL + "/v1/traces")))
    LangGraphInstrumentor(client).instrument()
    return client.get_tracer_provider().force_flush, None


def azureai(framework):
    """Microsoft Foundry's tracer for LangChain, as a callback."""
    made = instrument_packages.provider()
    os.environ["OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"] = "true"
    from langchain_azure_ai.callbacks.tracers import AzureAIOpenTelemetryTracer

    return made.force_flush, AzureAIOpenTelemetryTracer(enable_content_recording=True, name="support", provider_name="openai", auto_configure_azure_monitor=False)


def respan_plugin(framework):
    from respan_tracing import RespanTelemetry

    made = RespanTelemetry(app_name="app", api_key="none", base_url=URL + "/api", is_batching_enabled=False)
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

    made.add_processor(exporter=OTLPSpanExporter(URL + "/v1/traces"), is_batching_enabled=False)
    plugin = named("respan_instrumentation_" + framework, CLASSES[framework])()
    getattr(plugin, "activate", getattr(plugin, "instrument", None))()
    return made.flush, None


def neatlogs(framework):
    import neatlogs as sdk

    sdk.init(api_key="none", endpoint=URL, workflow_name="support", instrumentations=[framework], batch_size=1, flush_interval=0.1)
    return sdk.flush, None


def traccia(framework):
    import traccia as sdk

    sdk.init(endpoint=URL + "/v1/traces", api_key="none", use_otlp=True, service_name="agent", auto_start_trace=False)
    from traccia.auto import force_flush

    handler = None
    if framework == "langchain":
        from traccia.integrations.langchain import CallbackHandler

        handler = CallbackHandler()
    return force_flush, handler


VENDORS = {f.__name__: f for f in (tracekit, adot, fiddler, azureai, respan_plugin, neatlogs, traccia)}


def start(vendor, framework):
    return VENDORS[vendor](framework)
