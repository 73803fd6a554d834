# Copyright The tapedeck Authors
# SPDX-License-Identifier: Apache-2.0
"""Conversations with models through Anthropic's SDK (see sdk_openai.py)."""

import json

import sdk_openai
from recorder import URL
from sdk_openai import each, now


class anthropic_messages:
    model = "claude-sonnet-4-5"

    def __init__(self, model, system, history, user, tools, asynchronous):
        import anthropic

        self.client = (anthropic.AsyncAnthropic if asynchronous else anthropic.Anthropic)(base_url=URL, api_key="none", max_retries=0)
        self.messages = [*history, {"role": "user", "content": user}]
        tools = [{"name": t["name"], "description": t["description"], "input_schema": t["parameters"]} for t in tools]
        self.more = {"model": model, "max_tokens": 1024, "system": system, **({"tools": tools} if tools else {})}

    async def ask(self, stream):
        answer = await (self.streamed() if stream else now(self.client.messages.create(messages=self.messages, **self.more)))
        self.messages.append({"role": "assistant", "content": answer.content})
        text = "".join(b.text for b in answer.content if b.type == "text")
        return text, [(b.id, b.name, b.input) for b in answer.content if b.type == "tool_use"]

    async def streamed(self):
        manager = self.client.messages.stream(messages=self.messages, **self.more)
        if sdk_openai.ASYNC:
            async with manager as events:
                async for _ in events.text_stream:
                    pass
                return await events.get_final_message()
        with manager as events:
            for _ in events.text_stream:
                pass
            return events.get_final_message()

    def tell(self, results):
        blocks = [{"type": "tool_result", "tool_use_id": id, "content": text, **({"is_error": True} if bad else {})} for id, _, text, bad in results]
        self.messages.append({"role": "user", "content": blocks})


class anthropic_raw(anthropic_messages):
    """The stream of events as create gives it, put together by hand."""

    async def ask(self, stream):
        blocks, written = [], {}
        async for e in each(await now(self.client.messages.create(messages=self.messages, stream=True, **self.more))):
            if e.type == "content_block_start":
                blocks.append(e.content_block.model_dump(exclude_none=True))
            elif e.type == "content_block_delta" and e.delta.type == "text_delta":
                blocks[e.index]["text"] += e.delta.text
            elif e.type == "content_block_delta" and e.delta.type == "input_json_delta":
                written[e.index] = written.get(e.index, "") + e.delta.partial_json
        for index, text in written.items():
            blocks[index]["input"] = json.loads(text or "{}")
        self.messages.append({"role": "assistant", "content": blocks})
        return "".join(b["text"] for b in blocks if b["type"] == "text"), [(b["id"], b["name"], b["input"]) for b in blocks if b["type"] == "tool_use"]
