# Copyright The tapedeck Authors
# SPDX-License-Identifier: Apache-2.0

"""The official SDKs for Python against a model stub: SDK whole|streamed.

What the SDK read of both turns is printed: the first text, the calls, the last text. Where it leads is told by the variables
that `tapedeck replay` sets, unless an SDK takes its address as an argument alone.
"""
import json
import os
import sys

sdk, way = sys.argv[1:3]
streamed = way == "streamed"
base, SYSTEM, QUESTION = os.environ["MODEL_URL"], os.environ["SYSTEM"], os.environ["QUESTION"]
RESULTS = json.loads(os.environ["RESULTS"])
model = "m"


def stock(name, args):
    return RESULTS[name + " " + args["sku"]]


def bedrock():
    import boto3

    client = boto3.client("bedrock-runtime")
    messages = [{"role": "user", "content": [{"text": QUESTION}]}]

    def ask():
        body = {"modelId": "eu.anthropic.claude-x-v1:0", "system": [{"text": SYSTEM}], "messages": messages}
        if not streamed:
            return client.converse(**body)["output"]["message"]["content"]
        blocks = {}
        for e in client.converse_stream(**body)["stream"]:
            if "contentBlockStart" in e:
                blocks[e["contentBlockStart"]["contentBlockIndex"]] = {"toolUse": {**e["contentBlockStart"]["start"]["toolUse"], "input": ""}}
            if "contentBlockDelta" in e:
                at, delta = e["contentBlockDelta"]["contentBlockIndex"], e["contentBlockDelta"]["delta"]
                if "text" in delta:
                    blocks.setdefault(at, {"text": ""})["text"] += delta["text"]
                else:
                    blocks[at]["toolUse"]["input"] += delta["toolUse"]["input"]
        for block in blocks.values():
            if "toolUse" in block:
                block["toolUse"]["input"] = json.loads(block["toolUse"]["input"])
        return [blocks[i] for i in sorted(blocks)]

    def text(content):
        return "".join(b.get("text", "") for b in content)

    first = ask()
    asked = [b["toolUse"] for b in first if "toolUse" in b]
    messages.append({"role": "assistant", "content": first})
    results = [{"text": stock(c["name"], c["input"])} if i else {"json": json.loads(stock(c["name"], c["input"]))} for i, c in enumerate(asked)]
    messages.append({"role": "user", "content": [{"toolResult": {"toolUseId": c["toolUseId"], "content": [r]}} for c, r in zip(asked, results)]})
    return text(first), [(c["name"], c["input"]) for c in asked], text(ask())


def anthropic(client):
    messages = [{"role": "user", "content": QUESTION}]

    def ask():
        body = {"model": "claude-x", "max_tokens": 100, "system": SYSTEM, "messages": messages}
        if not streamed:
            return client.messages.create(**body)
        with client.messages.stream(**body) as s:
            return s.get_final_message()

    def text(m):
        return "".join(b.text for b in m.content if b.type == "text")

    first = ask()
    asked = [b for b in first.content if b.type == "tool_use"]
    messages.append({"role": "assistant", "content": first.content})
    messages.append({"role": "user", "content": [{"type": "tool_result", "tool_use_id": c.id, "content": stock(c.name, c.input)} for c in asked]})
    return text(first), [(c.name, c.input) for c in asked], text(ask())


def anthropic_bedrock():
    from anthropic import AnthropicBedrock

    return anthropic(AnthropicBedrock(max_retries=0))


def anthropic_vertex():
    from anthropic import AnthropicVertex

    client = AnthropicVertex(region="europe-west1", project_id="p", access_token="none", max_retries=0)
    counted = client.messages.count_tokens(model="claude-x", messages=[{"role": "user", "content": QUESTION}])
    assert counted.input_tokens > 0, counted
    return anthropic(client)


def openai(client):
    messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": QUESTION}]

    def ask():
        if not streamed:
            return client.chat.completions.create(model=model, messages=messages).choices[0].message
        with client.chat.completions.stream(model=model, messages=messages) as s:
            return s.get_final_completion().choices[0].message

    first = ask()
    calls = [(c.function.name, json.loads(c.function.arguments)) for c in first.tool_calls]
    messages.append({"role": "assistant", "content": first.content, "tool_calls": [{"id": c.id, "type": "function", "function": {"name": c.function.name, "arguments": c.function.arguments}} for c in first.tool_calls]})
    messages.extend({"role": "tool", "tool_call_id": c.id, "content": stock(*call)} for c, call in zip(first.tool_calls, calls))
    return first.content, calls, ask().content


def azure():
    from openai import AzureOpenAI

    client = AzureOpenAI(api_version="2024-10-21", api_key="none", max_retries=0)
    vector = client.embeddings.create(model="text-embedding-3-small", input=["a", "b"]).data
    assert [len(v.embedding) for v in vector] == [1536, 1536] and vector[0].embedding != vector[1].embedding, vector
    return openai(client)


def openrouter():
    from openai import OpenAI

    client = OpenAI(base_url=base + "/api/v1", api_key="none", max_retries=0)
    client.models.list()
    return openai(client)


def ollama():
    import ollama as sdk

    messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": QUESTION}]
    assert len(sdk.embed(model="nomic-embed-text", input=["a", "b"]).embeddings[1]) == 768
    sdk.list()

    def ask():
        if not streamed:
            return sdk.chat(model=model, messages=messages).message
        content, calls = "", []
        for part in sdk.chat(model=model, messages=messages, stream=True):
            content += part.message.content or ""
            calls += part.message.tool_calls or []
        return sdk.Message(role="assistant", content=content, tool_calls=calls or None)

    first = ask()
    calls = [(c.function.name, dict(c.function.arguments)) for c in first.tool_calls]
    messages.append(first)
    messages.extend({"role": "tool", "tool_name": name, "content": stock(name, args)} for name, args in calls)
    return first.content, calls, ask().content


def cohere():
    import cohere as sdk

    client = sdk.ClientV2()
    messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": QUESTION}]
    vectors = client.embed(model="embed-v4.0", texts=["a", "b"], input_type="search_document", embedding_types=["float", "int8"])
    assert len(vectors.embeddings.float_[1]) == 1536 and len(vectors.embeddings.int8[1]) == 1536
    ranked = client.rerank(model="rerank-v3.5", query="q", documents=["a", "b"])
    assert [r.index for r in ranked.results] == [0, 1]
    client.models.list()

    def ask():
        if not streamed:
            m = client.chat(model=model, messages=messages).message
            return m.tool_plan or "".join(c.text for c in m.content or []), [(c.id, c.function.name, c.function.arguments) for c in m.tool_calls or []]
        text, calls = "", []
        for e in client.chat_stream(model=model, messages=messages):
            if e.type == "content-delta":
                text += e.delta.message.content.text
            elif e.type == "tool-plan-delta":
                text += e.delta.message.tool_plan
            elif e.type == "tool-call-start":
                c = e.delta.message.tool_calls
                calls.append([c.id, c.function.name, ""])
            elif e.type == "tool-call-delta":
                calls[-1][2] += e.delta.message.tool_calls.function.arguments
        return text, calls

    plan, asked = ask()
    calls = [(name, json.loads(args)) for _, name, args in asked]
    messages.append({"role": "assistant", "tool_plan": plan, "tool_calls": [{"id": i, "type": "function", "function": {"name": n, "arguments": a}} for i, n, a in asked]})
    for (i, _, _), call in zip(asked, calls):
        messages.append({"role": "tool", "tool_call_id": i, "content": [{"type": "document", "document": {"data": stock(*call)}}]})
    return plan, calls, ask()[0]


def mistral():
    from mistralai.client import Mistral

    client = Mistral(api_key="none", server_url=base)
    messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": QUESTION}]
    assert len(client.embeddings.create(model="mistral-embed", inputs=["a"]).data[0].embedding) == 1024
    client.models.list()

    def ask():
        if not streamed:
            m = client.chat.complete(model=model, messages=messages).choices[0].message
            return m.content, m.tool_calls or []
        content, calls = "", []
        for e in client.chat.stream(model=model, messages=messages):
            delta = e.data.choices[0].delta
            content += delta.content or ""
            calls += delta.tool_calls or []
        return content, calls

    said, asked = ask()
    calls = [(c.function.name, json.loads(c.function.arguments)) for c in asked]
    messages.append({"role": "assistant", "content": said, "tool_calls": asked})
    messages.extend({"role": "tool", "name": name, "tool_call_id": c.id, "content": stock(name, args)} for c, (name, args) in zip(asked, calls))
    return said, calls, ask()[0]


def vertex():
    from google import genai
    from google.genai import types
    from google.oauth2.credentials import Credentials

    client = genai.Client(vertexai=True, project="p", location="europe-west1", credentials=Credentials(token="none"), http_options={"base_url": base})
    assert client.models.count_tokens(model=model, contents=QUESTION).total_tokens > 0
    assert len(client.models.embed_content(model="text-embedding-005", contents="a").embeddings[0].values) == 768
    config = types.GenerateContentConfig(system_instruction=SYSTEM)
    contents = [types.Content(role="user", parts=[types.Part(text=QUESTION)])]

    def ask():
        if not streamed:
            return client.models.generate_content(model=model, contents=contents, config=config).candidates[0].content.parts
        parts = []
        for chunk in client.models.generate_content_stream(model=model, contents=contents, config=config):
            parts += chunk.candidates[0].content.parts
        return parts

    def text(parts):
        return "".join(p.text or "" for p in parts)

    first = ask()
    asked = [p.function_call for p in first if p.function_call]
    contents.append(types.Content(role="model", parts=first))
    contents.append(types.Content(role="user", parts=[types.Part.from_function_response(name=c.name, response=json.loads(stock(c.name, c.args))) for c in asked]))
    return text(first), [(c.name, c.args) for c in asked], text(ask())


sdks = {
    "bedrock": bedrock, "anthropic-bedrock": anthropic_bedrock, "anthropic-vertex": anthropic_vertex, "azure": azure, "openrouter": openrouter,
    "ollama": ollama, "cohere": cohere, "mistral": mistral, "vertex": vertex,
}
first, calls, last = sdks[sdk]()
print(json.dumps({"first": first, "calls": [{"name": name, "args": args} for name, args in calls], "last": last}))
