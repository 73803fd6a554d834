# Copyright The tapedeck Authors
# SPDX-License-Identifier: Apache-2.0
"""Conversations with models through the SDK of Google's that came before google-genai (see sdk_openai.py)."""

from recorder import URL
from sdk_openai import now


class googlegenerativeai:
    model = "gemini-1.5-flash"

    def __init__(self, model, system, history, user, tools, asynchronous):
        self.asynchronous = asynchronous
        made = self.connect()
        roles = {"user": "user", "assistant": "model"}
        self.contents = [self.content(roles[m["role"]], [self.text(m["content"])]) for m in [*history, {"role": "user", "content": user}]]
        declared = [self.declaration(t) for t in tools]
        self.client = made(model, system_instruction=system, tools=[self.tool(declared)] if declared else None)

    def connect(self):
        import google.generativeai as genai

        genai.configure(api_key="none", transport="rest", client_options={"api_endpoint": URL})
        self.protos = genai.protos
        self.content = lambda role, parts: self.protos.Content(role=role, parts=parts)
        self.text = lambda text: self.protos.Part(text=text)
        self.tool = lambda declared: self.protos.Tool(function_declarations=declared)
        return genai.GenerativeModel

    def declaration(self, tool):
        return self.protos.FunctionDeclaration(name=tool["name"], description=tool["description"], parameters=self.schema(tool["parameters"]))

    def schema(self, given):
        kind = given.get("type", "string").upper()
        more = {"properties": {k: self.schema(v) for k, v in given["properties"].items()}} if given.get("properties") else {}
        if kind == "ARRAY":
            more["items"] = self.schema(given.get("items", {}))
        return self.protos.Schema(type=kind, description=given.get("description", ""), required=given.get("required", []) if more else [], **more)

    def response(self, name, value):
        return self.protos.Part(function_response=self.protos.FunctionResponse(name=name, response=value))

    async def ask(self, stream):
        # never streamed: over HTTP this SDK takes a stream as one JSON list, and the recorder streams events
        ask = self.client.generate_content_async if self.asynchronous else self.client.generate_content
        parts = list((await now(ask(self.contents))).candidates[0].content.parts)
        self.contents.append(self.content("model", parts))
        calls = [("", p.function_call.name, value(p.function_call.args or {})) for p in parts if "function_call" in p]
        return "".join(p.text for p in parts), calls

    def tell(self, results):
        key = {True: "error", False: "result"}
        self.contents.append(self.content("user", [self.response(name, {key[bad]: text}) for _, name, text, bad in results]))


def value(v):
    """What protobuf holds, as Python has it: a number is whole if it can be."""
    if isinstance(v, float) and v.is_integer():
        return int(v)
    if hasattr(v, "items"):
        return {k: value(w) for k, w in v.items()}
    if hasattr(v, "__iter__") and not isinstance(v, str):
        return [value(w) for w in v]
    return v
