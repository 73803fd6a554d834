// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// The BeeAI framework for TypeScript. VARIANT is AGENT: requirement (it answers by the tool final_answer), text (it answers as a model does) or calling (ToolCallingAgent).

import { INSTRUMENTATION, URL, VARIANT, main } from "./recorder.mjs";
import { instrument } from "./instrument.mjs";

Object.assign(process.env, { OPENAI_API_ENDPOINT: URL + "/v1", OPENAI_BASE_URL: URL + "/v1", OPENAI_API_KEY: "sk-test" });
const on = await instrument(INSTRUMENTATION, { libraries: { beeai: await import("beeai-framework") }, bare: true });
const { RequirementAgent } = VARIANT === "calling" ? {} : await import("beeai-framework/agents/requirement/agent"); // from 0.1.14
const { ToolCallingAgent } = await import("beeai-framework/agents/toolCalling/agent");
const { OpenAIChatModel } = await import("beeai-framework/adapters/openai/backend/chat");
const { OpenAIClient } = await import("beeai-framework/adapters/openai/backend/client");
const { UnconstrainedMemory } = await import("beeai-framework/memory/unconstrainedMemory");
const { UserMessage, AssistantMessage } = await import("beeai-framework/backend/message");
const { DynamicTool, JSONToolOutput, StringToolOutput } = await import("beeai-framework/tools/base");

const answer = (value) => (typeof value === "string" ? new StringToolOutput(value) : new JSONToolOutput(value));
const toolOf = (t) => new DynamicTool({ name: t.name, description: t.description, inputSchema: t.parameters, options: { retryOptions: { maxRetries: 0 } }, handler: async (args) => answer(await t.run(args)) });

async function ask(task) {
  const tools = (task.tools ?? []).map(toolOf);
  if (task.sub) tools.push(toolOf({ ...task.sub, run: ({ question }) => ask({ ...task.sub, user: question, history: [], model: task.model }) }));
  const llm = new OpenAIChatModel(task.model, {}, new OpenAIClient({ baseURL: URL + "/v1", apiKey: "sk-test" }));
  const memory = new UnconstrainedMemory();
  for (const m of task.history) await memory.add(m.role === "user" ? new UserMessage(m.content) : new AssistantMessage(m.content));
  const execution = { maxRetriesPerStep: 0, totalMaxRetries: VARIANT === "calling" ? 10 : 3, ...(task.max_steps ? { maxIterations: task.max_steps } : {}) };
  const agent = VARIANT === "calling"
    ? new ToolCallingAgent({ llm, memory, tools, templates: { system: (template) => template.fork((config) => { config.defaults = { ...config.defaults, role: task.system, instructions: task.system }; }) } })
    : new RequirementAgent({ llm, memory, tools, name: task.name ?? "assistant", role: task.system, instructions: task.system, finalAnswerAsTool: VARIANT !== "text", toolCallChecker: false });
  const { result } = await agent.run({ prompt: task.user }, { execution });
  return result.text;
}

await main((task) => on.root("chat", () => ask(task), task.user), process.env.GROUP ?? `beeaijs-${INSTRUMENTATION}-${VARIANT}`, "gpt-4o-mini", on.flush, VARIANT === "text" ? undefined : { name: "final_answer", argument: "response" });
