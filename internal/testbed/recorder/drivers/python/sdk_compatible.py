# Copyright The tapedeck Authors
# SPDX-License-Identifier: Apache-2.0
"""Conversations with models through SDKs that are much like OpenAI's."""

from recorder import URL
from sdk_openai import each, now, openai_chat


class groq(openai_chat):
    model = "llama-3.3-70b-versatile"

    def connect(self, asynchronous):
        import groq

        return (groq.AsyncGroq if asynchronous else groq.Groq)(base_url=URL, api_key="none", max_retries=0)


class together(openai_chat):
    model = "meta-llama/Llama-3.3-70B-Instruct-Turbo"

    def connect(self, asynchronous):
        import together

        return (together.AsyncTogether if asynchronous else together.Together)(base_url=URL + "/v1", api_key="none")

    async def ask(self, stream):
        answer = await super().ask(stream)
        if not isinstance(self.messages[-1], dict):
            self.messages[-1] = self.messages[-1].model_dump(exclude_none=True)
        return answer


class portkey(openai_chat):
    """The client of Portkey's gateway."""

    def connect(self, asynchronous):
        import portkey_ai

        return (portkey_ai.AsyncPortkey if asynchronous else portkey_ai.Portkey)(base_url=URL + "/v1", api_key="none", provider="openai")


class litellm(openai_chat):
    """LiteLLM as a library, before OpenAI's API."""

    def connect(self, asynchronous):
        import litellm

        more = {"api_base": URL + "/v1", "api_key": "sk-none"}
        self.complete = lambda **a: (litellm.acompletion if asynchronous else litellm.completion)(**self.prefixed(a), **more)
        completions = type("Completions", (), {"create": lambda _, **a: self.complete(**a)})()
        return type("Client", (), {"chat": type("Chat", (), {"completions": completions})()})()

    def prefixed(self, args):
        return args


class litellm_prefix(litellm):
    """The vendor before the name of the model, as LiteLLM's documentation writes it."""

    model = "openai/gpt-4o-mini"


class aisuite(openai_chat):
    """aisuite: it takes the vendor before the name of the model, and calls the vendor's SDK."""

    def __init__(self, model, *more):
        super().__init__("openai:" + model, *more)

    def connect(self, asynchronous):
        import aisuite

        return aisuite.Client({"openai": {"base_url": URL + "/v1", "api_key": "sk-none"}})


class ollama(openai_chat):
    model = "llama3.2"

    def connect(self, asynchronous):
        import ollama

        return (ollama.AsyncClient if asynchronous else ollama.Client)(host=URL)

    async def ask(self, stream):
        if not stream:
            message = (await now(self.client.chat(messages=self.messages, **self.more))).message
            text, calls = message.content, message.tool_calls or []
            self.messages.append(message)
        else:
            text, calls = "", []
            async for chunk in each(await now(self.client.chat(messages=self.messages, stream=True, **self.more))):
                text += chunk.message.content or ""
                calls += chunk.message.tool_calls or []
            self.messages.append({"role": "assistant", "content": text, **({"tool_calls": calls} if calls else {})})
        return text, [("", c.function.name, dict(c.function.arguments or {})) for c in calls]

    def tell(self, results):
        self.messages += [{"role": "tool", "tool_name": name, "content": text} for _, name, text, _ in results]
