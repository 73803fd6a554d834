# Copyright The tapedeck Authors
# SPDX-License-Identifier: Apache-2.0
"""Conversations with models through the SDKs of Mistral and Cohere, and boto3 for Bedrock (see sdk_openai.py)."""

import json
import os

from recorder import URL
from sdk_openai import each, now, openai_chat


class mistral(openai_chat):
    model = "mistral-large-latest"

    def __init__(self, model, system, history, user, tools, asynchronous):
        super().__init__(model, system, history, user, tools, asynchronous)
        self.asynchronous = asynchronous

    def connect(self, asynchronous):
        try:
            from mistralai import Mistral
        except ImportError:
            from mistralai.client import Mistral

        return Mistral(api_key="none", server_url=URL)

    async def ask(self, stream):
        chat = self.client.chat
        if not stream:
            ask = chat.complete_async if self.asynchronous else chat.complete
            message = (await now(ask(messages=self.messages, **self.more))).choices[0].message
            self.messages.append(message)
            text, calls = message.content, message.tool_calls or []
        else:
            ask, text, calls = chat.stream_async if self.asynchronous else chat.stream, "", []
            async for event in each(await now(ask(messages=self.messages, **self.more))):
                delta = event.data.choices[0].delta if event.data.choices else None
                text += (delta and delta.content) or ""
                calls += (delta and delta.tool_calls) or []
            self.messages.append({"role": "assistant", "content": text, "tool_calls": calls or None})
        read = lambda a: json.loads(a or "{}") if isinstance(a, str) else a  # noqa: E731
        return text, [(c.id, c.function.name, read(c.function.arguments)) for c in calls]

    def tell(self, results):
        self.messages += [{"role": "tool", "name": name, "tool_call_id": id, "content": text} for id, name, text, _ in results]


class cohere(openai_chat):
    model = "command-a-03-2025"

    def connect(self, asynchronous):
        import cohere

        return (cohere.AsyncClientV2 if asynchronous else cohere.ClientV2)(api_key="none", base_url=URL)

    async def ask(self, stream):
        if not stream:
            message = (await now(self.client.chat(messages=self.messages, **self.more))).message
            calls = message.tool_calls or []
            text = "".join(part.text for part in message.content or [])
            self.messages.append(message if not calls else {"role": "assistant", "tool_calls": calls, "tool_plan": message.tool_plan})
            return text, [(c.id, c.function.name, json.loads(c.function.arguments or "{}")) for c in calls]
        text, plan, calls = "", "", []
        async for e in each(self.client.chat_stream(messages=self.messages, **self.more)):
            if e.type == "content-delta":
                text += e.delta.message.content.text
            elif e.type == "tool-plan-delta":
                plan += e.delta.message.tool_plan
            elif e.type == "tool-call-start":
                calls.append({"id": e.delta.message.tool_calls.id, "type": "function", "function": {"name": e.delta.message.tool_calls.function.name, "arguments": ""}})
            elif e.type == "tool-call-delta":
                calls[-1]["function"]["arguments"] += e.delta.message.tool_calls.function.arguments
        self.messages.append({"role": "assistant", **({"tool_calls": calls, "tool_plan": plan} if calls else {"content": text})})
        return text, [(c["id"], c["function"]["name"], json.loads(c["function"]["arguments"] or "{}")) for c in calls]


class bedrock:
    """Bedrock's Converse by boto3."""

    model = "anthropic.claude-3-5-sonnet-20240620-v1:0"

    def __init__(self, model, system, history, user, tools, asynchronous):
        import boto3

        os.environ.update(AWS_ACCESS_KEY_ID="none", AWS_SECRET_ACCESS_KEY="none", AWS_DEFAULT_REGION="us-east-1")
        self.client = boto3.client("bedrock-runtime", endpoint_url=URL, region_name="us-east-1")
        self.messages = [{"role": m["role"], "content": [{"text": m["content"]}]} for m in [*history, {"role": "user", "content": user}]]
        self.more = {"modelId": model, "system": [{"text": system}]}
        if tools:
            specs = [{"toolSpec": {"name": t["name"], "description": t["description"], "inputSchema": {"json": t["parameters"]}}} for t in tools]
            self.more["toolConfig"] = {"tools": specs}

    async def ask(self, stream):
        content = self.streamed() if stream else self.client.converse(messages=self.messages, **self.more)["output"]["message"]["content"]
        self.messages.append({"role": "assistant", "content": content})
        uses = [b["toolUse"] for b in content if "toolUse" in b]
        return "".join(b.get("text", "") for b in content), [(u["toolUseId"], u["name"], u["input"]) for u in uses]

    def streamed(self):
        blocks = {}
        for event in self.client.converse_stream(messages=self.messages, **self.more)["stream"]:
            if start := event.get("contentBlockStart"):
                blocks[start["contentBlockIndex"]] = {"toolUse": {**start["start"]["toolUse"], "input": ""}}
            elif delta := event.get("contentBlockDelta"):
                block = blocks.setdefault(delta["contentBlockIndex"], {"text": ""})
                if "text" in delta["delta"]:
                    block["text"] += delta["delta"]["text"]
                else:
                    block["toolUse"]["input"] += delta["delta"]["toolUse"]["input"]
        for block in blocks.values():
            if "toolUse" in block:
                block["toolUse"]["input"] = json.loads(block["toolUse"]["input"] or "{}")
        return list(blocks.values())

    def tell(self, results):
        blocks = [{"toolResult": {"toolUseId": id, "content": [{"text": text}], "status": "error" if bad else "success"}} for id, _, text, bad in results]
        self.messages.append({"role": "user", "content": blocks})
