# Copyright The tapedeck Authors
# SPDX-License-Identifier: Apache-2.0
"""Providers over plain HTTP, for loops that somebody wrote by hand. A conversation is a list of {role, text, calls: [(id, name, args as text)], id, name, failed};
the last three are of the result of a call."""

import json
import urllib.error
import urllib.request

from recorder import URL


def compact(value):
    return json.dumps(value, ensure_ascii=False)


def chat_message(m):
    if m["role"] == "tool":
        return {"role": "tool", "tool_call_id": m["id"], "content": m["text"]}
    out = {"role": m["role"], "content": m["text"] or None}
    if m.get("calls"):
        out["tool_calls"] = [{"id": i, "type": "function", "function": {"name": n, "arguments": a}} for i, n, a in m["calls"]]
    return out


def anthropic_message(m):
    if m["role"] == "tool":
        return {"role": "user", "content": [{"type": "tool_result", "tool_use_id": m["id"], "content": m["text"], "is_error": m["failed"]}]}
    if not m.get("calls"):
        return {"role": m["role"], "content": m["text"]}
    blocks = [{"type": "text", "text": m["text"]}] if m["text"] else []
    return {"role": "assistant", "content": blocks + [{"type": "tool_use", "id": i, "name": n, "input": json.loads(a)} for i, n, a in m["calls"]]}


def gemini_message(m):
    if m["role"] == "system":
        return {"role": "system", "parts": [{"text": m["text"]}]}
    if m["role"] == "tool":
        return {"role": "user", "parts": [{"functionResponse": {"name": m["name"], "response": {"error" if m["failed"] else "result": m["text"]}}}]}
    parts = [{"text": m["text"]}] if m["text"] else []
    return {"role": "model" if m["role"] == "assistant" else "user", "parts": parts + [{"functionCall": {"name": n, "args": json.loads(a)}} for _, n, a in m.get("calls") or []]}


def request(api, task, messages, tools):
    """The path and the body of a request."""
    system, rest = [m["text"] for m in messages if m["role"] == "system"], [m for m in messages if m["role"] != "system"]
    if api == "chat":
        body = {"model": task["model"], "messages": [chat_message(m) for m in messages], "temperature": 0.2, "stream": task["stream"]}
        return "/v1/chat/completions", body | ({"tools": [{"type": "function", "function": t} for t in tools]} if tools else {})
    if api == "anthropic":
        body = {"model": task["model"], "max_tokens": 1024, "messages": [anthropic_message(m) for m in rest], "stream": task["stream"]} | ({"system": system[0]} if system else {})
        return "/v1/messages", body | ({"tools": [{"name": t["name"], "description": t["description"], "input_schema": t["parameters"]} for t in tools]} if tools else {})
    body = {"contents": [gemini_message(m) for m in rest]} | ({"systemInstruction": {"parts": [{"text": system[0]}]}} if system else {})
    action = "streamGenerateContent?alt=sse" if task["stream"] else "generateContent"
    return f"/v1beta/models/{task['model']}:{action}", body | ({"tools": [{"functionDeclarations": tools}]} if tools else {})


def post(path, body):
    req = urllib.request.Request(URL + path, json.dumps(body).encode(), {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(req, timeout=30) as response:
            text = response.read().decode()
    except urllib.error.HTTPError as e:
        raise RuntimeError(f"HTTP {e.code}: {json.loads(e.read())['error']['message']}") from None
    if not text.startswith(("data:", "event:")):
        return [json.loads(text)]
    return [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: {")]


def understand(chunks):
    """The text and the calls of an answer that came in chunks, or whole."""
    text, calls = "", {}
    for chunk in chunks:
        for choice in chunk.get("choices", []):
            said = choice.get("delta") or choice.get("message") or {}
            text += said.get("content") or ""
            for c in said.get("tool_calls") or []:
                have = calls.setdefault(c.get("index", len(calls)), [c.get("id"), c["function"].get("name"), ""])
                have[2] += c["function"]["arguments"]
        for part in (chunk.get("candidates") or [{}])[0].get("content", {}).get("parts", []):
            text += part.get("text", "")
            if "functionCall" in part:
                calls[len(calls)] = [None, part["functionCall"]["name"], compact(part["functionCall"]["args"])]
        for block in chunk.get("content") or []:
            text += block.get("text", "")
            if block["type"] == "tool_use":
                calls[len(calls)] = [block["id"], block["name"], compact(block["input"])]
        if chunk.get("type") == "content_block_start" and chunk["content_block"]["type"] == "tool_use":
            calls[chunk["index"]] = [chunk["content_block"]["id"], chunk["content_block"]["name"], ""]
        if chunk.get("type") == "content_block_delta":
            text += chunk["delta"].get("text", "")
            if "partial_json" in chunk["delta"]:
                calls[chunk["index"]][2] += chunk["delta"]["partial_json"]
    return {"role": "assistant", "text": text, "calls": [tuple(c) for c in calls.values()]}
