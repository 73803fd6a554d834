// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Strands Agents for TypeScript. VARIANT is PROVIDER[-agent]: chat, responses or anthropic; with -agent the other agent is one by asTool. What its spans are like is
// OTEL_SEMCONV_STABILITY_OPT_IN of the environment.

import { INSTRUMENTATION, URL, VARIANT, main } from "./recorder.mjs";
import { instrument } from "./instrument.mjs";

const [api = "chat", asTool] = VARIANT.split("-");
const on = await instrument(INSTRUMENTATION, { bare: true });
const { Agent, tool } = await import("@strands-agents/sdk");

async function model(name) {
  if (api === "anthropic") {
    const { AnthropicModel } = await import("@strands-agents/sdk/models/anthropic");
    return new AnthropicModel({ modelId: name, apiKey: "key", clientConfig: { baseURL: URL, maxRetries: 0 } });
  }
  const { OpenAIModel } = await import("@strands-agents/sdk/models/openai");
  return new OpenAIModel({ api, modelId: name, apiKey: "sk-test", clientConfig: { baseURL: URL + "/v1", maxRetries: 0 } });
}

async function agentOf(task) {
  const tools = (task.tools ?? []).map((t) => tool({ name: t.name, description: t.description, inputSchema: t.parameters, callback: on.inner(t.name, (args) => t.run(args)) }));
  if (task.sub) {
    const other = () => agentOf({ ...task.sub, model: task.model, history: [] });
    tools.push(asTool
      ? (await other()).asTool({ name: task.sub.name, description: task.sub.description })
      : tool({ name: task.sub.name, description: task.sub.description, inputSchema: task.sub.parameters, callback: async ({ question }) => said(await (await other()).invoke(question)) }));
  }
  const messages = task.history.map((m) => ({ role: m.role, content: [{ text: m.content }] }));
  return new Agent({ name: task.name ?? "assistant", model: await model(task.model), systemPrompt: task.system, tools, messages, printer: false, retryStrategy: null });
}

const said = (result) => result.lastMessage.content.map((block) => block.text ?? "").join("");

async function ask(task) {
  const agent = await agentOf(task), options = task.max_steps ? { limits: { turns: task.max_steps } } : {};
  if (!task.stream) {
    const result = await agent.invoke(task.user, options);
    return result.stopReason === "endTurn" ? said(result) : null;
  }
  const events = agent.stream(task.user, options);
  for (;;) {
    const { done, value } = await events.next();
    if (done) return said(value);
  }
}

await main((task) => on.root("chat", () => ask(task), task.user), process.env.GROUP ?? `strandsjs-${INSTRUMENTATION}-${VARIANT}`, api === "anthropic" ? "claude-sonnet-4-5" : "gpt-4o-mini", on.flush);
