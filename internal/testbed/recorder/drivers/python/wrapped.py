# Copyright The tapedeck Authors
# SPDX-License-Identifier: Apache-2.0
"""What programs put around an agent, for any driver: WRAP=NAME python FRAMEWORK.py …

span, http, chain (a span of OpenInference with content), session (attributes of OpenInference alone), observe (Langfuse), workflow (Traceloop), mlflow, logfire, traceable (LangSmith);
with -record the function around it is given and returns a record instead of a text."""

import contextlib


@contextlib.contextmanager
def span(question):
    from opentelemetry import trace

    with trace.get_tracer("shop.assistant").start_as_current_span("handle_question"):
        yield lambda answer: None


@contextlib.contextmanager
def http(question):
    from opentelemetry import trace

    attributes = {"http.request.method": "POST", "url.path": "/chat", "http.route": "/chat", "http.response.status_code": 200, "server.address": "shop.example.test"}
    with trace.get_tracer("opentelemetry.instrumentation.fastapi").start_as_current_span("POST /chat", kind=trace.SpanKind.SERVER, attributes=attributes):
        with trace.get_tracer("shop.assistant").start_as_current_span("answer", attributes={"app.user_id": "u-17", "app.tenant": "north"}):
            yield lambda answer: None


@contextlib.contextmanager
def chain(question):
    from opentelemetry import trace

    with trace.get_tracer("shop.assistant").start_as_current_span("chat", attributes={"openinference.span.kind": "CHAIN", "input.value": question, "session.id": "s-4"}) as made:
        yield lambda answer: made.set_attribute("output.value", str(answer))


@contextlib.contextmanager
def session(question):
    from openinference.instrumentation import using_attributes

    with using_attributes(session_id="s-4", user_id="u-17", metadata={"plan": "pro"}, tags=["beta"]):
        yield lambda answer: None


@contextlib.contextmanager
def logfire(question):
    import logfire as library

    with library.span("answering {question=}", question=question) as made:
        yield lambda answer: made.set_attribute("answer", answer)


def decorator(name):
    if name == "observe":
        from langfuse import observe

        return observe(name="chat")
    if name == "workflow":
        from traceloop.sdk.decorators import workflow

        return workflow(name="chat")
    if name == "mlflow":
        import mlflow

        return mlflow.trace
    from langsmith import traceable

    return traceable(name="chat")


MANAGERS = {"span": span, "http": http, "chain": chain, "session": session, "logfire": logfire}


def wrapped(agent, way, later):
    """agent with what WRAP names around it; later: it is a coroutine."""
    name, _, record = way.partition("-")

    def around(task, tools, sub):
        if name in MANAGERS:
            return managed(task, tools, sub) if later else direct(task, tools, sub)
        if later and record:

            async def chat(request: dict):
                return {"answer": await agent(task, tools, sub), "sources": []}
        elif later:

            async def chat(question: str):
                return await agent(task, tools, sub)
        elif record:

            def chat(request: dict):
                return {"answer": agent(task, tools, sub), "sources": []}
        else:

            def chat(question: str):
                return agent(task, tools, sub)

        given = {"message": task["user"], "user_id": "u-17", "locale": "en"} if record else task["user"]
        made = decorator(name)(chat)(given)
        if not record:
            return made

        async def unpacked():
            return (await made)["answer"]

        return unpacked() if later else made["answer"]

    def direct(task, tools, sub):
        with MANAGERS[name](task["user"]) as tell:
            answer = agent(task, tools, sub)
            tell(answer)
            return answer

    async def managed(task, tools, sub):
        with MANAGERS[name](task["user"]) as tell:
            answer = await agent(task, tools, sub)
            tell(answer)
            return answer

    return around
