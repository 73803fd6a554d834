// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// What an application writes around its agent. AROUND names one of these; without it the driver has what the documents of the instrumentation show. Each gives
// root(name, f, input), which runs the agent, and tool(name, f), which makes the function of a tool; nested(depth) is a style of a vendor's own functions.

const text = (value) => (typeof value === "string" ? value : JSON.stringify(value) ?? "null");

async function spans() {
  const { trace, SpanKind, SpanStatusCode } = await import("@opentelemetry/api");
  const tracer = trace.getTracer("office-assistant", "1.4.0");
  const active = (name, options, f) => tracer.startActiveSpan(name, options, async (span) => {
    try {
      return await f(span);
    } catch (e) {
      span.recordException(e);
      span.setStatus({ code: SpanStatusCode.ERROR, message: e.message });
      throw e;
    } finally {
      span.end();
    }
  });
  return { active, SpanKind };
}

export const styles = {
  none: () => ({ root: (name, f) => f(), tool: (name, f) => f }),
  // One span without attributes, the tools with none.
  async span() {
    const { active } = await spans();
    return { root: (name, f) => active(name, {}, f), tool: (name, f) => f };
  },
  // What an HTTP server and a handler leave, and a request to a database in each tool.
  async http() {
    const { active, SpanKind } = await spans();
    const request = { kind: SpanKind.SERVER, attributes: { "http.request.method": "POST", "http.route": "/api/chat", "url.path": "/api/chat", "url.scheme": "https", "server.address": "agents.example.test", "user_agent.original": "Mozilla/5.0" } };
    const query = { kind: SpanKind.CLIENT, attributes: { "db.system.name": "postgresql", "db.query.text": "SELECT body FROM entries WHERE key = $1", "db.operation.name": "SELECT", "server.address": "db.example.test" } };
    return {
      root: (name, f) => active("POST /api/chat", request, async (span) => {
        const output = await active("handleChat", { attributes: { "code.function.name": "handleChat" } }, f);
        span.setAttribute("http.response.status_code", 200);
        return output;
      }),
      tool: (name, f) => async (...args) => {
        const result = await f(...args);
        await active("SELECT entries", query, async () => {});
        return result;
      },
    };
  },
  // Spans with attributes of the application's own making.
  async own() {
    const { active } = await spans();
    return {
      root: (name, f, input) => active("agent.run", { attributes: { "app.question": input, "user.id": "u-17", "session.id": "s-4", "app.release": "2026.11" } }, async (span) => {
        const output = await f();
        span.setAttribute("app.answer", text(output));
        return output;
      }),
      tool: (name, f) => (...args) => active(`tool.${name}`, { attributes: { "tool.name": name, "tool.args": text(args[0]) } }, async (span) => {
        const result = await f(...args);
        span.setAttribute("tool.result", text(result));
        return result;
      }),
    };
  },
  // Spans by hand as the semantic conventions have them.
  async semconv() {
    const { active, SpanKind } = await spans();
    return {
      root: (name, f) => active("invoke_agent " + name, { kind: SpanKind.INTERNAL, attributes: { "gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": name, "gen_ai.provider.name": "openai", "gen_ai.conversation.id": "c-9" } }, f),
      tool: (name, f) => (...args) => active("execute_tool " + name, { attributes: { "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name, "gen_ai.tool.type": "function", "gen_ai.tool.call.arguments": text(args[0]) } }, async (span) => {
        const result = await f(...args);
        span.setAttribute("gen_ai.tool.call.result", text(result));
        return result;
      }),
    };
  },
  // Spans by hand as OpenInference has them.
  async inference() {
    const { active } = await spans();
    const kind = (kind, input) => ({ attributes: { "openinference.span.kind": kind, "input.value": text(input), "input.mime_type": typeof input === "string" ? "text/plain" : "application/json" } });
    const output = (span, value) => span.setAttributes({ "output.value": text(value), "output.mime_type": typeof value === "string" ? "text/plain" : "application/json" });
    return {
      root: (name, f, input) => active(name, kind("AGENT", input), async (span) => {
        const said = await f();
        output(span, said);
        return said;
      }),
      tool: (name, f) => (...args) => active(name, { attributes: { ...kind("TOOL", args[0]).attributes, "tool.name": name } }, async (span) => {
        const result = await f(...args);
        output(span, result);
        return result;
      }),
    };
  },
  // The functions of OpenInference's core, as its guide shows them.
  async decorated() {
    const { withSpan, traceAgent, traceTool } = await import("@arizeai/openinference-core");
    const agent = traceAgent ?? ((f, o) => withSpan(f, { ...o, kind: "AGENT" })), tool = traceTool ?? ((f, o) => withSpan(f, { ...o, kind: "TOOL" }));
    return { root: (name, f, input) => agent(async (question) => f(question), { name })(input), tool: (name, f) => tool(async (args) => f(args), { name }) };
  },
  // Spans by hand as Sentry's guide to agents has them.
  async sentry() {
    const Sentry = await import("@sentry/node");
    return {
      root: (name, f, input) => Sentry.startSpan({ op: "gen_ai.invoke_agent", name: `invoke_agent ${name}`, attributes: { "gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": name, "gen_ai.request.messages": JSON.stringify([{ role: "user", content: input }]) } }, async (span) => {
        const output = await f();
        span.setAttribute("gen_ai.response.text", JSON.stringify([text(output)]));
        return output;
      }),
      tool: (name, f) => (...args) => Sentry.startSpan({ op: "gen_ai.execute_tool", name: `execute_tool ${name}`, attributes: { "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name, "gen_ai.tool.type": "function", "gen_ai.tool.input": text(args[0]) } }, async (span) => {
        const result = await f(...args);
        span.setAttribute("gen_ai.tool.output", text(result));
        return result;
      }),
    };
  },
  // LangWatch: spans of its tracer with inputs and outputs of its own form.
  async langwatch() {
    const { getLangWatchTracer } = await import("langwatch");
    const tracer = getLangWatchTracer("office-assistant");
    const spanned = (name, type, input, f) => tracer.withActiveSpan(name, async (span) => {
      span.setType(type).setInput(input);
      const output = await f();
      span.setOutput(output);
      return output;
    });
    return { root: (name, f, input) => spanned("handle-chat", "workflow", { message: input, locale: "en" }, () => spanned(name, "agent", input, f)), tool: (name, f) => (args) => spanned(name, "tool", args, () => f(args)) };
  },
  // Langfuse: a function observed, whose input is the body of a request; each tool observed as one.
  async langfuse() {
    const { observe, updateActiveTrace } = await import("@langfuse/tracing");
    const handle = (f) => observe(async ({ message }) => {
      updateActiveTrace?.({ name: "chat", userId: "u-17", sessionId: "s-4", tags: ["office"] });
      return { reply: await f(message), ok: true };
    }, { name: "handle-chat-message" });
    return { root: async (name, f, input) => (await handle(f)({ message: input, locale: "en" })).reply, tool: (name, f) => observe((args) => f(args), { name, asType: "tool" }) };
  },
  // LangSmith: two functions within each other, tools as runs of their own.
  async langsmith() {
    const { traceable } = await import("langsmith/traceable");
    const plan = (f) => traceable(async (question) => f(question), { name: "answer_question", run_type: "chain" });
    const handle = (f) => traceable(async (body) => ({ reply: await plan(f)(body.message) }), { name: "POST /chat", tags: ["office"], metadata: { user: "u-17", session_id: "s-4" } });
    return { root: async (name, f, input) => (await handle(f)({ message: input, locale: "en" })).reply, tool: (name, f) => traceable((args) => f(args), { name, run_type: "tool" }) };
  },
  // Traceloop: a workflow of an agent of tasks.
  async traceloop() {
    const { withWorkflow, withAgent, withTask, withTool } = await import("@traceloop/node-server-sdk");
    return {
      root: (name, f, input) => withWorkflow({ name: "chat_workflow", associationProperties: { user_id: "u-17" } }, (body) => withTask({ name: "prepare" }, () => body.message).then((message) => withAgent({ name }, (question) => f(question), message)), { message: input, locale: "en" }),
      tool: (name, f) => (args) => withTool({ name }, (given) => f(given), args),
    };
  },
  // Laminar: two functions observed, tools as spans of their own.
  async laminar() {
    const { observe } = await import("@lmnr-ai/lmnr");
    return {
      root: async (name, f, input) => (await observe({ name: "handleChat", sessionId: "s-4", userId: "u-17" }, async (body) => ({ reply: await observe({ name }, async (question) => f(question), body.message) }), { message: input })).reply,
      tool: (name, f) => (args) => observe({ name, spanType: "TOOL" }, async (given) => f(given), args),
    };
  },
};

export async function around(name) {
  const style = styles[name];
  if (!style) throw new Error("nothing around is called " + name);
  return style();
}
