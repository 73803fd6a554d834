// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// VoltAgent. VARIANT is openai or chat.

import { INSTRUMENTATION, URL, VARIANT, main } from "./recorder.mjs";

const { Agent, VoltAgentObservability, createTool } = await import("@voltagent/core");
const { OTLPTraceExporter } = await import("@opentelemetry/exporter-trace-otlp-proto");
const { SimpleSpanProcessor } = await import("@opentelemetry/sdk-trace-base");
const { createOpenAI } = await import("@ai-sdk/openai");
const { z } = await import("zod");
const openai = createOpenAI({ baseURL: URL + "/v1", apiKey: "sk-test" });
const processor = new SimpleSpanProcessor(new OTLPTraceExporter({ url: URL + "/v1/traces" }));
const observability = new VoltAgentObservability({ serviceName: "agent", spanProcessors: [processor] });

const kinds = { string: () => z.string(), number: () => z.number(), integer: () => z.number().int(), boolean: () => z.boolean(), object: () => z.record(z.string(), z.any()), array: () => z.array(z.string()) };
function schema(parameters) {
  return z.object(Object.fromEntries(Object.entries(parameters.properties).map(([name, p]) => [name, (parameters.required ?? []).includes(name) ? kinds[p.type]() : kinds[p.type]().optional()])));
}

function agentOf(task) {
  const tools = (task.tools ?? []).map((t) => createTool({ name: t.name, description: t.description, parameters: schema(t.parameters), execute: (args) => t.run(args) }));
  if (task.sub) {
    const other = agentOf({ ...task.sub, model: task.model });
    tools.push(createTool({ name: task.sub.name, description: task.sub.description, parameters: schema(task.sub.parameters), execute: async ({ question }, options) => (await other.generateText(question, { parentSpan: options?.parentToolSpan })).text }));
  }
  return new Agent({ name: task.name ?? "assistant", instructions: task.system, model: VARIANT === "chat" ? openai.chat(task.model) : openai(task.model), tools, observability, memory: false, markdown: false });
}

async function ask(task) {
  const agent = agentOf(task), input = task.history.length ? [...task.history, { role: "user", content: task.user }] : task.user;
  const options = { maxSteps: task.max_steps || 10, maxRetries: 0 };
  if (!task.stream) return (await agent.generateText(input, options)).text;
  const result = await agent.streamText(input, options);
  for await (const part of result.fullStream) if (part.type === "error") throw part.error; // its text would be empty
  return result.text;
}

await main(ask, process.env.GROUP ?? `voltagentjs-${INSTRUMENTATION}-${VARIANT}`, "gpt-4o-mini", () => processor.forceFlush());
