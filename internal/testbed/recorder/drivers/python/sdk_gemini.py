# Copyright The tapedeck Authors
# SPDX-License-Identifier: Apache-2.0
"""Conversations with models through Google's SDK (see sdk_openai.py)."""

from recorder import URL
from sdk_openai import each, now


class gemini:
    model = "gemini-2.5-flash"

    def __init__(self, model, system, history, user, tools, asynchronous):
        from google import genai
        from google.genai import types

        self.types = types
        self.client = self.connect(genai, types)
        self.models = self.client.aio.models if asynchronous else self.client.models
        self.model, self.asynchronous, self.system = model, asynchronous, system
        roles = {"user": "user", "assistant": "model"}
        self.contents = [types.Content(role=roles[m["role"]], parts=[types.Part(text=m["content"])]) for m in [*history, {"role": "user", "content": user}]]
        declared = [types.FunctionDeclaration(name=t["name"], description=t["description"], parameters_json_schema=t["parameters"]) for t in tools]
        self.config = types.GenerateContentConfig(system_instruction=system, tools=[types.Tool(function_declarations=declared)] if declared else None)

    def connect(self, genai, types):
        return genai.Client(api_key="none", http_options=types.HttpOptions(base_url=URL))

    async def ask(self, stream):
        if not stream:
            response = await now(self.models.generate_content(model=self.model, contents=self.contents, config=self.config))
            parts = response.candidates[0].content.parts or []
        else:
            parts = []
            async for chunk in each(await now(self.models.generate_content_stream(model=self.model, contents=self.contents, config=self.config))):
                parts += (chunk.candidates[0].content.parts or []) if chunk.candidates and chunk.candidates[0].content else []
        self.contents.append(self.types.Content(role="model", parts=parts))
        text = "".join(p.text or "" for p in parts)
        return text, [(p.function_call.id, p.function_call.name, p.function_call.args or {}) for p in parts if p.function_call]

    def tell(self, results):
        key = {True: "error", False: "result"}
        parts = [self.types.Part.from_function_response(name=name, response={key[bad]: text}) for _, name, text, bad in results]
        self.contents.append(self.types.Content(role="user", parts=parts))


class gemini_auto(gemini):
    """Automatic function calling: the SDK runs the loop."""

    async def run(self, tools, stream, limit):
        more = {"automatic_function_calling": self.types.AutomaticFunctionCallingConfig(maximum_remote_calls=limit)} if limit else {}
        config = self.types.GenerateContentConfig(system_instruction=self.system, tools=list(tools.values()) or None, **more)
        if not stream:
            return (await now(self.models.generate_content(model=self.model, contents=self.contents, config=config))).text
        text = ""
        async for chunk in each(await now(self.models.generate_content_stream(model=self.model, contents=self.contents, config=config))):
            text += chunk.text or ""
        return text
