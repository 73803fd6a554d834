# Copyright The tapedeck Authors
# SPDX-License-Identifier: Apache-2.0
"""How the teams of handwritten.py write down the messages that they record."""

import json

from providers import anthropic_message, chat_message, gemini_message


def recorded_id(d, i):
    return {} if d.ids == "dropped" or i is None else {"id": i}


def semconv_message(d, m):
    if m["role"] == "tool":
        return {"role": "tool", "parts": [{"type": "tool_call_response", **recorded_id(d, m["id"]), "response": m["text"]}]}
    parts = [{"type": "text", "content": m["text"]}] if m["text"] else []
    return {"role": m["role"], "parts": parts + [{"type": "tool_call", **recorded_id(d, i), "name": n, "arguments": json.loads(a)} for i, n, a in m.get("calls") or []]}


def own_message(d, m):
    w = d.words
    if m["role"] == "tool":
        return {w["role"]: w["toolrole"], w["name"]: m["name"], **{w["id"]: i for i in recorded_id(d, m["id"]).values()}, w["text"]: m["text"]}
    out = {w["role"]: {"assistant": w["assistant"], "user": w["human"]}.get(m["role"], m["role"]), w["text"]: m["text"]}
    if m.get("calls"):
        out[w["calls"]] = [{**{w["id"]: c for c in recorded_id(d, i).values()}, w["name"]: n, w["args"]: json.loads(a) if d.args == "value" else a} for i, n, a in m["calls"]]
    return out


def line(m):
    calls = "".join(f"\n[call {n} {a}]" for _, n, a in m.get("calls") or [])
    return f"{m['role'].capitalize()}: {m['text']}{calls}"


def written(d, m):
    """A message in the form of the team."""
    if d.form == "native":
        return {"chat": chat_message, "anthropic": anthropic_message, "gemini": gemini_message}[d.api](m)
    if d.form == "openai":
        return chat_message(m)
    return semconv_message(d, m) if d.form == "semconv" else own_message(d, m)


def seen(d, messages):
    """Which messages of a request are recorded: all, those since the last answer, or the last one."""
    messages = [m for m in messages if m["role"] != "system" or d.system == "message"]
    if d.window == "whole":
        return messages
    since = max([i + 1 for i, m in enumerate(messages) if m["role"] == "assistant"], default=0)
    return messages[since:] if d.window == "delta" else messages[-1:]


def asked_as(d, messages, body):
    if d.form == "native" and d.window == "whole" and d.system == "message":
        return body
    if d.form == "transcript":
        return "\n\n".join(line(m) for m in seen(d, messages))
    return [written(d, m) for m in seen(d, messages)]


def answered_as(d, message, chunks):
    if d.form == "native" and (len(chunks) == 1 or d.chunks == "raw"):
        return chunks[0] if len(chunks) == 1 else chunks
    if d.form == "transcript" or d.answer == "text" and not message["calls"]:
        return message["text"] + "".join(f"\n[call {n} {a}]" for _, n, a in message["calls"])
    return [written(d, message)] if d.answer == "list" or d.form == "semconv" else written(d, message)


class Messages(list):
    """Messages in the form of the team, with the neutral ones for conventions that have a form of their own."""

    neutral = ()


def openinference_messages(prefix, messages):
    out = {}
    for n, m in enumerate(messages):
        at = f"{prefix}.{n}.message."
        out |= {at + "role": m["role"], at + "content": m["text"]} | ({at + "tool_call_id": m["id"]} if m.get("id") else {})
        for k, (i, name, args) in enumerate(m.get("calls") or []):
            out |= {f"{at}tool_calls.{k}.tool_call.function.name": name, f"{at}tool_calls.{k}.tool_call.function.arguments": args} | ({f"{at}tool_calls.{k}.tool_call.id": i} if i else {})
    return out
