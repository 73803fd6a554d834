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

// ask reads the stream of a run. The answer is the text of its last message: with stream false the SDK gives back the texts of all messages as one, which its own span of the run does not.
async function ask(task) {
  const adapter = (VARIANT === "chat" ? createOpenaiChatCompletions : createOpenaiChat)(task.model, "sk-test", { baseURL: URL + "/v1", maxRetries: 0 });
  const stream = chat({
    adapter, systemPrompts: [task.system], messages: [...task.history, { role: "user", content: task.user }], tools: toolset(task), stream: true, agentLoopStrategy: maxIterations(task.max_steps || 10),
    middleware: [otelMiddleware({ tracer: trace.getTracer("agent"), captureContent: true })],
  });
  let text = null, reason = null;
  for await (const chunk of stream) {
    if (chunk.type === "TEXT_MESSAGE_START") text = "";
    if (chunk.type === "TEXT_MESSAGE_CONTENT") text = (text ?? "") + chunk.delta;
    if (chunk.type === "TOOL_CALL_START") text = null; // what is said beside a call is no answer
    if (chunk.type === "RUN_FINISHED") reason = chunk.finishReason;
    if (chunk.type === "RUN_ERROR") throw new Error(chunk.message ?? chunk.error?.message ?? "the run failed");
  }
  return reason === "tool_calls" ? null : text;
}

await main((task) => on.root("assistant", () => ask(task), task.user), process.env.GROUP ?? `tanstackjs-${INSTRUMENTATION}-${VARIANT}`, "gpt-4o-mini", on.flush);
