// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Strands Agents for TypeScript. VARIANT is chat, responses, anthropic or bedrock.

import { INSTRUMENTATION, URL, VARIANT, main } from "./recorder.mjs";
import { instrument } from "./instrument.mjs";

const api = VARIANT || "chat";
if (process.env.SEMCONV) process.env.OTEL_SEMCONV_STABILITY_OPT_IN = process.env.SEMCONV;
Object.assign(process.env, { AWS_ACCESS_KEY_ID: "AKIATEST", AWS_SECRET_ACCESS_KEY: "secret", AWS_REGION: "us-east-1" });
const on = await instrument(INSTRUMENTATION, { bare: true });
const { Agent, tool } = await import("@strands-agents/sdk");
const telemetry = await import("@strands-agents/sdk/telemetry");
if (INSTRUMENTATION === "otel") telemetry.setupTracer({ provider: (await import("@opentelemetry/api")).trace.getTracerProvider() });

async function modelOf(name) {
  if (api === "anthropic") return new (await import("@strands-agents/sdk/models/anthropic")).AnthropicModel({ modelId: name, apiKey: "key", clientConfig: { baseURL: URL, maxRetries: 0 }, maxTokens: 1024 });
  if (api === "bedrock") return new (await import("@strands-agents/sdk/models/bedrock")).BedrockModel({ modelId: name, region: "us-east-1", clientConfig: { endpoint: URL, maxAttempts: 1 } });
  return new (await import("@strands-agents/sdk/models/openai")).OpenAIModel({ api, modelId: name, apiKey: "sk-test", clientConfig: { baseURL: URL + "/v1", maxRetries: 0 } });
}

async function ask(task) {
  const tools = (task.tools ?? []).map((t) => tool({ name: t.name, description: t.description, inputSchema: t.parameters, callback: (args) => t.run(args) }));
  if (task.sub) tools.push(tool({ name: task.sub.name, description: task.sub.description, inputSchema: task.sub.parameters, callback: ({ question }) => ask({ ...task.sub, user: question, history: [], model: task.model }) }));
  const messages = task.history.map((m) => ({ role: m.role, content: [{ text: m.content }] }));
  const agent = new Agent({ name: task.name ?? "assistant", model: await modelOf(task.model), systemPrompt: task.system, tools, messages, printer: false, retryStrategy: undefined });
  const limits = task.max_steps ? { limits: { turns: task.max_steps } } : {};
  let result = null;
  if (task.stream) {
    const stream = agent.stream(task.user, limits);
    for (let next = await stream.next(); ; next = await stream.next()) {
      if (next.done) { result = next.value; break; }
    }
  } else result = await agent.invoke(task.user, limits);
  return result.lastMessage.content.map((block) => block.text ?? "").join("");
}

await main((task) => on.root("chat", () => ask(task), task.user), process.env.GROUP ?? `strandsjs-${INSTRUMENTATION}-${VARIANT}`,
  { anthropic: "claude-sonnet-4-5", bedrock: "us.anthropic.claude-sonnet-4-5-20250929-v1:0" }[api] ?? "gpt-4o-mini", on.flush);
