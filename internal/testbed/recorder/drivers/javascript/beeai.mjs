// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// The BeeAI framework for TypeScript. VARIANT is toolcalling or requirement.

import { createRequire } from "node:module";
import { INSTRUMENTATION, URL, VARIANT, main } from "./recorder.mjs";
import { instrument } from "./instrument.mjs";

const require = createRequire(import.meta.url);
const on = await instrument(INSTRUMENTATION, { bare: true, libraries: { beeai: require("beeai-framework") } });
const { OpenAIChatModel } = require("beeai-framework/adapters/openai/backend/chat");
const { UnconstrainedMemory } = require("beeai-framework/memory/unconstrainedMemory");
const { AssistantMessage, SystemMessage, UserMessage } = require("beeai-framework/backend/message");
const { DynamicTool, JSONToolOutput, StringToolOutput } = require("beeai-framework/tools/base");
const { ToolCallingAgent } = require("beeai-framework/agents/toolCalling/agent");

const toolOf = (t) => new DynamicTool({
  name: t.name, description: t.description, inputSchema: { additionalProperties: false, ...t.parameters }, options: { retryOptions: { maxRetries: 0 } },
  handler: async (args) => { const r = await t.run(args); return typeof r === "string" ? new StringToolOutput(r) : new JSONToolOutput(r); },
});

async function ask(task) {
  const llm = new OpenAIChatModel(task.model, { temperature: 0, stream: task.stream }, { baseURL: URL + "/v1", apiKey: "sk-test" });
  const tools = (task.tools ?? []).map(toolOf), memory = new UnconstrainedMemory();
  if (task.sub) tools.push(toolOf({ ...task.sub, run: ({ question }) => ask({ ...task.sub, user: question, history: [], model: task.model }) }));
  for (const m of task.history) await memory.add(m.role === "user" ? new UserMessage(m.content) : new AssistantMessage(m.content));
  const execution = { maxRetriesPerStep: 0, totalMaxRetries: 0, maxIterations: task.max_steps || 10 };
  if (VARIANT === "requirement") {
    const { RequirementAgent } = require("beeai-framework/agents/requirement/agent");
    const answer = await new RequirementAgent({ llm, memory, tools, instructions: task.system, role: "assistant" }).run({ prompt: task.user }, { execution });
    return answer.result.text;
  }
  await memory.add(new SystemMessage(task.system), 0);
  const agent = new ToolCallingAgent({ llm, memory, tools, templates: { system: (template) => template.fork((config) => { config.defaults.instructions = task.system; }) } });
  return (await agent.run({ prompt: task.user }, { execution })).result.text;
}

await main((task) => on.root("chat", () => ask(task), task.user), process.env.GROUP ?? `beeaijs-${INSTRUMENTATION}-${VARIANT}`, "gpt-4o-mini", on.flush);
