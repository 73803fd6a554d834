# Copyright The tapedeck Authors
# SPDX-License-Identifier: Apache-2.0
"""Conversations with models through SDKs of those who host them: Azure, Hugging Face and DeepSeek (see sdk_openai.py)."""

import json

from recorder import URL
from sdk_openai import each, now, openai_chat


class azure_chat(openai_chat):
    """OpenAI's SDK before a deployment at Azure."""

    model = "gpt-4o"

    def connect(self, asynchronous):
        import openai

        return (openai.AsyncAzureOpenAI if asynchronous else openai.AzureOpenAI)(azure_endpoint=URL, api_key="none", api_version="2024-10-21", max_retries=0)


class deepseek(openai_chat):
    """A service that speaks OpenAI's API, by OpenAI's SDK."""

    model = "deepseek-chat"


class huggingface(openai_chat):
    model = "Qwen/Qwen2.5-72B-Instruct"

    def connect(self, asynchronous):
        import huggingface_hub

        return (huggingface_hub.AsyncInferenceClient if asynchronous else huggingface_hub.InferenceClient)(base_url=URL + "/v1", api_key="none")

    async def ask(self, stream):
        answer = await super().ask(stream)
        if not isinstance(self.messages[-1], dict):
            m = self.messages[-1]
            calls = [{"id": c.id, "type": "function", "function": {"name": c.function.name, "arguments": c.function.arguments}} for c in m.tool_calls or []]
            self.messages[-1] = {"role": "assistant", "content": m.content, **({"tool_calls": calls} if calls else {})}
        return answer


class azure_inference:
    """Azure's own SDK for models of many vendors."""

    model = "gpt-4o"

    def __init__(self, model, system, history, user, tools, asynchronous):
        from azure.ai.inference import ChatCompletionsClient
        from azure.ai.inference import models as m
        from azure.core.credentials import AzureKeyCredential

        if asynchronous:
            from azure.ai.inference.aio import ChatCompletionsClient
        self.m = m
        self.client = ChatCompletionsClient(endpoint=URL, credential=AzureKeyCredential("none"))
        roles = {"user": m.UserMessage, "assistant": m.AssistantMessage}
        self.messages = [m.SystemMessage(system), *(roles[h["role"]](h["content"]) for h in history), m.UserMessage(user)]
        made = [m.ChatCompletionsToolDefinition(function=m.FunctionDefinition(name=t["name"], description=t["description"], parameters=t["parameters"])) for t in tools]
        self.more = {"model": model, **({"tools": made} if made else {})}

    async def ask(self, stream):
        if not stream:
            message = (await now(self.client.complete(messages=self.messages, **self.more))).choices[0].message
            self.messages.append(self.m.AssistantMessage(content=message.content, tool_calls=message.tool_calls))
            return message.content, [(c.id, c.function.name, json.loads(c.function.arguments or "{}")) for c in message.tool_calls or []]
        text, calls = "", []
        async for chunk in each(await now(self.client.complete(messages=self.messages, stream=True, **self.more))):
            for choice in chunk.choices or []:
                text += choice.delta.content or ""
                for c in choice.delta.tool_calls or []:
                    if c.id:
                        calls.append([c.id, c.function.name, ""])
                    calls[-1][2] += c.function.arguments or ""
        made = [self.m.ChatCompletionsToolCall(id=i, function=self.m.FunctionCall(name=n, arguments=a)) for i, n, a in calls]
        self.messages.append(self.m.AssistantMessage(content=text or None, tool_calls=made or None))
        return text, [(i, n, json.loads(a or "{}")) for i, n, a in calls]

    def tell(self, results):
        self.messages += [self.m.ToolMessage(content=text, tool_call_id=id) for id, _, text, _ in results]
