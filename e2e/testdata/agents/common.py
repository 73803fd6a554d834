# Copyright The tapedeck Authors
# SPDX-License-Identifier: Apache-2.0
"""What the agents of the test share: spans to the collector, a tool that remembers its calls, fails for an unknown article and fails once for some
others, two turns of one conversation."""

import json
import os
import sys
import urllib.request

from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor

OUT = os.dup(1)
os.dup2(2, 1)  # frameworks print what they like

MODEL = "gpt-4o-mini"
SYSTEM = "You are the stock clerk. Look things up before you answer."
QUESTIONS = sys.argv[2:] or ["How many of SKU-7 and SKU-8 are in stock?", "And of SKU-9?"]
BASE_URL = os.environ.get("OPENAI_BASE_URL") or os.environ["MODEL_URL"] + "/v1"

provider = TracerProvider(resource=Resource.create({"service.name": sys.argv[1]}))
provider.add_span_processor(SimpleSpanProcessor(OTLPSpanExporter(endpoint=(os.environ.get("OTEL_EXPORTER_OTLP_ENDPOINT") or os.environ["OTLP_URL"]) + "/v1/traces")))
trace.set_tracer_provider(provider)



class Unavailable(LookupError):
    """An error as programs have them: nobody can make it of a text alone."""

    def __init__(self, sku, milliseconds):
        super().__init__(f"no answer about {sku} within {milliseconds} ms")
        self.sku = sku


calls = []
STOCK = {"SKU-5": 15, "SKU-6": 16, "SKU-7": int(os.environ.get("SKU_7", "42")), "SKU-8": 0}
FAILS_ONCE = {"SKU-5": lambda sku: Unavailable(sku, 2000), "SKU-6": lambda sku: Unavailable(sku, 2000)}  # a framework with an error of its own puts it here


def get_stock(sku: str) -> str:
    """Tell how many pieces of an article are in stock."""
    call = {"name": "get_stock", "args": {"sku": sku}, "result": None, "error": None}
    calls.append(call)
    if os.environ.get("STOCK_URL"):
        urllib.request.urlopen(os.environ["STOCK_URL"], timeout=0.5)
    if sku in FAILS_ONCE:
        error = FAILS_ONCE.pop(sku)(sku)
        call["error"] = str(error)
        raise error
    if sku not in STOCK:
        call["error"] = "no article " + sku
        raise LookupError(call["error"])
    call["result"] = json.dumps({"sku": sku, "pieces": STOCK[sku]})
    return call["result"]


def done(answers):
    provider.shutdown()
    os.write(OUT, json.dumps({"calls": calls, "answers": answers}).encode())
