# Copyright The tapedeck Authors
# SPDX-License-Identifier: Apache-2.0
"""Conversations with models through OpenAI's SDK: a class for each way to use it. `ask` returns (text, [(id, name, arguments)])."""

import inspect
import json

from recorder import URL


async def now(value):
    return await value if inspect.isawaitable(value) else value


ASYNC = False  # whether the clients are asynchronous ones; wrappers around streams often look like both


async def each(stream):
    if ASYNC:
        async for item in stream:
            yield item
    else:
        for item in stream:
            yield item



class openai_chat:
    model, client = "gpt-4o-mini", None

    def __init__(self, model, system, history, user, tools, asynchronous):
        self.client = self.connect(asynchronous)
        self.messages = [{"role": "system", "content": system}, *history, {"role": "user", "content": user}]
        self.more = {"model": model, **({"tools": [{"type": "function", "function": t} for t in tools]} if tools else {})}

    def connect(self, asynchronous):
        import openai

        return (openai.AsyncOpenAI if asynchronous else openai.OpenAI)(base_url=URL + "/v1", api_key="sk-none", max_retries=0)

    async def ask(self, stream):
        if stream:
            return await self.streamed()
        message = (await now(self.client.chat.completions.create(messages=self.messages, **self.more))).choices[0].message
        self.messages.append(message)
        return message.content, [(c.id, c.function.name, json.loads(c.function.arguments or "{}")) for c in message.tool_calls or []]

    async def streamed(self):
        text, calls = "", {}
        async for chunk in each(await now(self.client.chat.completions.create(messages=self.messages, stream=True, **self.more))):
            if not chunk.choices:
                continue
            delta = chunk.choices[0].delta
            text += delta.content or ""
            for c in delta.tool_calls or []:
                call = calls.setdefault(c.index or 0, {"id": "", "type": "function", "function": {"name": "", "arguments": ""}})
                call["id"] += c.id or ""
                call["function"]["name"] += c.function.name or ""
                call["function"]["arguments"] += c.function.arguments or ""
        self.messages.append({"role": "assistant", "content": text or None, **({"tool_calls": list(calls.values())} if calls else {})})
        return text, [(c["id"], c["function"]["name"], json.loads(c["function"]["arguments"] or "{}")) for c in calls.values()]

    def tell(self, results):
        self.messages += [{"role": "tool", "tool_call_id": id, "content": text} for id, _, text, _ in results]


class openai_dump(openai_chat):
    """Keeps the answers as plain dictionaries."""

    async def ask(self, stream):
        answer = await super().ask(stream)
        if not isinstance(self.messages[-1], dict):
            self.messages[-1] = self.messages[-1].model_dump(exclude_none=True)
        return answer




class openai_helpers(openai_chat):
    """The helpers: parse, and stream as a context."""

    async def ask(self, stream):
        chat = getattr(self.client.chat.completions, "parse", None) or self.client.beta.chat.completions.parse
        for tool in self.more.get("tools", []):
            tool["function"].update(strict=True)
        if not stream:
            message = (await now(chat(messages=self.messages, **self.more))).choices[0].message
        else:
            manager = self.client.chat.completions.stream(messages=self.messages, **self.more)
            if ASYNC:
                async with manager as events:
                    async for _ in events:
                        pass
                    message = (await events.get_final_completion()).choices[0].message
            else:
                with manager as events:
                    for _ in events:
                        pass
                    message = events.get_final_completion().choices[0].message
        self.messages.append(message)
        return message.content, [(c.id, c.function.name, json.loads(c.function.arguments or "{}")) for c in message.tool_calls or []]


class openai_responses(openai_chat):
    def __init__(self, model, system, history, user, tools, asynchronous):
        self.client = self.connect(asynchronous)
        self.input = [*history, {"role": "user", "content": user}]
        self.more = {"model": model, "instructions": system, **({"tools": [{"type": "function", **t} for t in tools]} if tools else {})}

    async def ask(self, stream):
        response = await now(self.client.responses.create(input=self.input, stream=stream, **self.more))
        if stream:
            async for event in each(response):
                if event.type == "response.completed":
                    response = event.response
        return self.keep(response)

    def keep(self, response):
        self.input = self.input + response.output
        return response.output_text, [(i.call_id, i.name, json.loads(i.arguments or "{}")) for i in response.output if i.type == "function_call"]

    def tell(self, results):
        self.input = self.input + [{"type": "function_call_output", "call_id": id, "output": text} for id, _, text, _ in results]


class openai_previous(openai_responses):
    """The provider keeps the conversation; the request names the answer before."""

    def keep(self, response):
        self.input, self.more["previous_response_id"] = [], response.id
        return response.output_text, [(i.call_id, i.name, json.loads(i.arguments or "{}")) for i in response.output if i.type == "function_call"]


class openai_respstream(openai_responses):
    """The stream of the Responses API as a context."""

    async def ask(self, stream):
        manager = self.client.responses.stream(input=self.input, **self.more)
        if ASYNC:
            async with manager as events:
                async for _ in events:
                    pass
                return self.keep(await events.get_final_response())
        with manager as events:
            for _ in events:
                pass
            return self.keep(events.get_final_response())
