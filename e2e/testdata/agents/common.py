# Copyright The tapedeck Authors
# SPDX-License-Identifier: Apache-2.0
"""What the agents of the test share: spans to the collector, a tool that remembers its calls, two turns of one conversation."""

import json
import os
import sys

from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor

MODEL = "gpt-4o-mini"
SYSTEM = "You are the stock clerk. Look things up before you answer."
QUESTIONS = ["How many of SKU-7 are in stock?", "And of SKU-8?"]
BASE_URL = os.environ["MODEL_URL"]

provider = TracerProvider(resource=Resource.create({"service.name": sys.argv[1]}))
provider.add_span_processor(SimpleSpanProcessor(OTLPSpanExporter(endpoint=os.environ["OTLP_URL"] + "/v1/traces")))
trace.set_tracer_provider(provider)

calls = []
STOCK = {"SKU-7": 42, "SKU-8": 0}


def get_stock(sku: str) -> str:
    """Tell how many pieces of an article are in stock."""
    answer = json.dumps({"sku": sku, "pieces": STOCK[sku]})
    calls.append({"name": "get_stock", "args": {"sku": sku}, "result": answer})
    return answer


def done(answers):
    provider.shutdown()
    print(json.dumps({"calls": calls, "answers": answers}))
