// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// TanStack AI with its middleware for OpenTelemetry. VARIANT is openai (Responses) or chat.

import { INSTRUMENTATION, URL, VARIANT, main } from "./recorder.mjs";
import { instrument } from "./instrument.mjs";

const on = await instrument(INSTRUMENTATION, { bare: true });
const { trace } = await import("@opentelemetry/api");
const { chat, maxIterations, toolDefinition } = await import("@tanstack/ai");
const { otelMiddleware } = await import("@tanstack/ai/middlewares/otel");
const { createOpenaiChat, createOpenaiChatCompletions } = await import("@tanstack/ai-openai");

function toolset(task) {
  const made = (task.tools ?? []).map((t) => toolDefinition({ name: t.name, description: t.description, inputSchema: t.parameters }).server(on.inner(t.name, (args) => t.run(args))));
  if (task.sub) made.push(toolDefinition({ name: task.sub.name, description: task.sub.description, inputSchema: task.sub.parameters }).server(({ question }) => ask({ ...task.sub, user: question, history: [], model: task.model })));
  return made;
}

async function ask(task) {
  const adapter = (VARIANT === "chat" ? createOpenaiChatCompletions : createOpenaiChat)(task.model, "sk-test", { baseURL: URL + "/v1", maxRetries: 0 });
  return chat({
    adapter, systemPrompts: [task.system], messages: [...task.history, { role: "user", content: task.user }], tools: toolset(task), stream: false, agentLoopStrategy: maxIterations(task.max_steps || 10),
    middleware: [otelMiddleware({ tracer: trace.getTracer("agent"), captureContent: true })],
  });
}

await main((task) => on.root("assistant", () => ask(task), task.user), process.env.GROUP ?? `tanstackjs-${INSTRUMENTATION}-${VARIANT}`, "gpt-4o-mini", on.flush);
