// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Mastra with one of its exporters as INSTRUMENTATION: otel, arize, langfuse, laminar or bridge (spans of the application's own provider). VARIANT is openai or chat.

import { INSTRUMENTATION, URL, VARIANT, main } from "./recorder.mjs";

const { Mastra } = await import("@mastra/core");
const { Agent } = await import("@mastra/core/agent");
const { createTool } = await import("@mastra/core/tools");
const { Observability } = await import("@mastra/observability");
const { createOpenAI } = await import("@ai-sdk/openai");
const openai = createOpenAI({ baseURL: URL + "/v1", apiKey: "sk-test" });

let on = { flush: async () => {}, root: (name, f) => f() };
const exporters = {
  otel: async () => new (await import("@mastra/otel-exporter")).OtelExporter({ provider: { custom: { endpoint: URL + "/v1/traces", protocol: "http/protobuf" } }, signals: { logs: false } }),
  arize: async () => new (await import("@mastra/arize")).ArizeExporter({ endpoint: URL + "/v1/traces", apiKey: "key", projectName: "agents" }),
  langfuse: async () => new (await import("@mastra/langfuse")).LangfuseExporter({ publicKey: "pk-lf-1", secretKey: "sk-lf-1", baseUrl: URL, realtime: true }),
  bridge: async () => {
    const { instrument } = await import("./instrument.mjs");
    on = await instrument("otel");
    return new (await import("@mastra/otel-bridge")).OtelBridge();
  },
  laminar: async () => new (await import("@mastra/laminar")).LaminarExporter({ apiKey: "lm-1", baseUrl: URL, realtime: true }),
};
const exporter = await exporters[INSTRUMENTATION]();
const observability = new Observability({ configs: { default: { serviceName: "agent", ...(INSTRUMENTATION === "bridge" ? { bridge: exporter } : { exporters: [exporter] }) } } });

function agentOf(task) {
  const tools = {};
  for (const t of task.tools ?? []) tools[t.name] = createTool({ id: t.name, description: t.description, inputSchema: t.parameters, execute: (input) => t.run(input?.context ?? input) });
  if (task.sub) {
    const other = agentOf({ ...task.sub, model: task.model });
    tools[task.sub.name] = createTool({ id: task.sub.name, description: task.sub.description, inputSchema: task.sub.parameters, execute: async (input, context) => (await other.generate((input?.context ?? input).question, { tracingContext: context?.tracingContext })).text });
  }
  return new Agent({ id: task.name ?? "assistant", name: task.name ?? "assistant", instructions: task.system, model: VARIANT === "chat" ? openai.chat(task.model) : openai(task.model), tools, maxRetries: 0 });
}

async function ask(task) {
  const agent = new Mastra({ agents: { assistant: agentOf(task) }, observability, logger: false }).getAgent("assistant");
  const messages = [...task.history, { role: "user", content: task.user }], options = { maxSteps: task.max_steps || 10 };
  const result = task.stream ? await agent.stream(messages, options) : await agent.generate(messages, options);
  if (!task.stream) return result.text;
  for await (const _ of result.textStream);
  if (result.error) throw result.error;
  return result.text;
}

await main((task) => on.root("chat", () => ask(task), task.user), process.env.GROUP ?? `mastrajs-${INSTRUMENTATION}-${VARIANT}`, "gpt-4o-mini", async () => {
  await new Promise((done) => setTimeout(done, 100));
  await on.flush();
  await (observability.getDefaultInstance?.()?.flush?.() ?? exporter.flush?.());
});
