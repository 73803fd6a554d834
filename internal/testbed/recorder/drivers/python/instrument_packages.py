# Copyright The tapedeck Authors
# SPDX-License-Identifier: Apache-2.0
"""Families of packages with one instrumentor for each framework, by the name of the family: `flush = start(FAMILY, FRAMEWORK)`. Content is captured as their documents say."""

import importlib
import os

from recorder import URL

CLASSES = {"langchain": "LangChainInstrumentor", "langgraph": "LangGraphInstrumentor", "openai_agents": "OpenAIAgentsInstrumentor", "crewai": "CrewAIInstrumentor", "adk": "GoogleADKInstrumentor",
           "llamaindex": "LlamaIndexInstrumentor", "smolagents": "SmolagentsInstrumentor", "agno": "AgnoInstrumentor", "dspy": "DSPyInstrumentor", "pydantic_ai": "PydanticAIInstrumentor",
           "haystack": "HaystackInstrumentor", "autogen": "AutogenInstrumentor", "openai": "OpenAIInstrumentor", "strands": "StrandsInstrumentor", "qwen_agent": "QwenAgentInstrumentor", "agentscope": "AgentScopeInstrumentor", "pipecat": "PipecatInstrumentor"}
MODULES = {"adk": "google_adk"}
# FAMILY: package of a framework, what captures content, and names that differ
FAMILIES = {
    "traceai": ("traceai_{}", "true", {}),
    "genai": ("opentelemetry.instrumentation.genai.{}", "SPAN_ONLY", {"llamaindex": "llama_index"}),
    "genai_event": ("opentelemetry.instrumentation.genai.{}", "EVENT_ONLY", {"llamaindex": "llama_index"}),
    "splunk": ("opentelemetry.instrumentation.{}", "SPAN_ONLY", {}),
    "loongsuite": ("opentelemetry.instrumentation.{}", "SPAN_ONLY", {}),
    "openinference_packages": ("openinference.instrumentation.{}", "true", {}),
    "a365": None, "genai_otel": None,  # below
}


def provider():
    """A provider of spans and one of log records that send each at once."""
    import instrument_sdk

    return instrument_sdk.provider(logs=True)


def a365(framework):
    """Microsoft Agent 365, with its switch for OTLP."""
    os.environ.update(ENABLE_OBSERVABILITY="true", ENABLE_A365_OBSERVABILITY="true", ENABLE_OTLP_EXPORTER="true", OTEL_EXPORTER_OTLP_ENDPOINT=URL, OTEL_EXPORTER_OTLP_PROTOCOL="http/protobuf")
    from microsoft_agents_a365.observability.core import configure, get_tracer_provider

    configure(service_name="agent", service_namespace="tests")
    name = {"langchain": "langchain.CustomLangChainInstrumentor", "openai_agents": "openai.OpenAIAgentsTraceInstrumentor"}[framework]
    module, cls = name.split(".")
    getattr(importlib.import_module("microsoft_agents_a365.observability.extensions." + module), cls)().instrument(skip_dep_check=True)
    return get_tracer_provider().force_flush


def genai_otel(framework):
    """The package genai-otel-instrument."""
    os.environ.update(OTEL_EXPORTER_OTLP_ENDPOINT=URL, OTEL_EXPORTER_OTLP_PROTOCOL="http/protobuf", GENAI_ENABLE_GPU_METRICS="false", GENAI_ENABLE_CONTENT_CAPTURE="true")
    import genai_otel

    genai_otel.instrument(service_name="agent", endpoint=URL)
    return forced


def agentops(framework):
    import instrument_frameworks

    return instrument_frameworks.agentops()


def forced():
    from opentelemetry import trace

    trace.get_tracer_provider().force_flush()


def start(family, framework):
    if family in globals():
        return globals()[family](framework)
    package, content, modules = FAMILIES[family]
    os.environ.update(OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=content, OTEL_SEMCONV_STABILITY_OPT_IN="gen_ai_latest_experimental", OTEL_EXPORTER_OTLP_ENDPOINT=URL)
    made = provider()
    os.environ["OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"] = content
    for name in framework.split("+"):
        module = importlib.import_module(package.format(modules.get(name, MODULES.get(name, name))))
        by_name = {n.lower(): n for n in dir(module)}
        getattr(module, by_name[CLASSES[name].lower()])().instrument(tracer_provider=made, skip_dep_check=True)
    return made.force_flush
