// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Mastra 0.x with the telemetry it had before observability was a package: each method of an agent is a span of the provider that the program registers, which `mastra dev` does for it.
// VARIANT is openai or chat, with -legacy generateLegacy and streamLegacy, which want a model of the AI SDK 4.

import { INSTRUMENTATION, URL, VARIANT, main } from "./recorder.mjs";
import { instrument } from "./instrument.mjs";

const on = await instrument(INSTRUMENTATION, { bare: true });
globalThis.___MASTRA_TELEMETRY___ = true;
const [api = "openai", legacy] = VARIANT.split("-");
const { Mastra } = await import("@mastra/core");
const { Agent } = await import("@mastra/core/agent");
const { createTool } = await import("@mastra/core/tools");
const { createOpenAI } = await import("@ai-sdk/openai");
const { z } = await import("zod");
const openai = createOpenAI({ baseURL: URL + "/v1", apiKey: "sk-test" });

const kinds = { string: () => z.string(), number: () => z.number(), integer: () => z.number().int(), boolean: () => z.boolean(), object: () => z.record(z.string(), z.any()), array: () => z.array(z.string()) };
const schema = (parameters) => z.object(Object.fromEntries(Object.entries(parameters.properties).map(([name, p]) => [name, (parameters.required ?? []).includes(name) ? kinds[p.type]() : kinds[p.type]().optional()])));

// names are those of the methods: until 0.20 what takes the models of the AI SDK 5 was called "VNext".
const names = (agent) => (legacy ? (agent.generateLegacy ? ["generateLegacy", "streamLegacy"] : ["generate", "stream"]) : agent.generateVNext ? ["generateVNext", "streamVNext"] : ["generate", "stream"]);

let agents = {}; // all of a run, which Mastra is told of: it hands its telemetry to those alone
function agentOf(task, id = "agent") {
  const tools = {};
  for (const t of task.tools ?? []) tools[t.name] = createTool({ id: t.name, description: t.description, inputSchema: schema(t.parameters), execute: (input) => t.run(input?.context ?? input) });
  if (task.sub) {
    const other = agentOf({ ...task.sub, model: task.model }, "other");
    tools[task.sub.name] = createTool({ id: task.sub.name, description: task.sub.description, inputSchema: schema(task.sub.parameters), execute: async (input) => (await other[names(other)[0]]((input?.context ?? input).question)).text });
  }
  return agents[id] = new Agent({ name: task.name ?? "assistant", instructions: task.system, model: api === "chat" ? openai.chat(task.model) : openai(task.model), tools });
}

async function ask(task) {
  agents = {};
  agentOf(task);
  const agent = new Mastra({ agents, logger: false, telemetry: { serviceName: "agent", enabled: true } }).getAgent("agent");
  const options = { maxSteps: task.max_steps || 10, maxRetries: 0, modelSettings: { maxRetries: 0 } };
  const messages = [...task.history, { role: "user", content: task.user }];
  const [generate, stream] = names(agent);
  if (!task.stream) return (await agent[generate](messages, options)).text;
  const result = await agent[stream](messages, options);
  for await (const _ of result.textStream);
  if (result.error) throw result.error;
  return result.text;
}

await main(ask, process.env.GROUP ?? `mastrajs0-${INSTRUMENTATION}-${VARIANT}`, "gpt-4o-mini", on.flush);
