// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// OpenAI Agents for JavaScript. VARIANT is responses or chat, with -tool the other agent is one by asTool.

import { createRequire } from "node:module";
import { INSTRUMENTATION, URL, VARIANT, main } from "./recorder.mjs";
import { instrument } from "./instrument.mjs";

const require = createRequire(import.meta.url);
const [api = "responses", asTool] = VARIANT.split("-");
const own = INSTRUMENTATION === "openinference" || INSTRUMENTATION === "langfuse";
const on = await instrument(INSTRUMENTATION, { bare: true, libraries: ["openinference", "openlit", "agentops"].includes(INSTRUMENTATION) ? {} : { openai: require("openai") } });
const agents = require("@openai/agents");
const { OpenAI } = require("openai");

if (own) {
  const { OpenAIAgentsInstrumentation } = require("@arizeai/openinference-instrumentation-openai-agents");
  new OpenAIAgentsInstrumentation().manuallyInstrument(agents);
} else if (INSTRUMENTATION !== "openlit" && INSTRUMENTATION !== "agentops") agents.setTracingDisabled(true);
agents.setDefaultOpenAIClient(on.openai(new OpenAI({ baseURL: URL + "/v1", apiKey: "sk-test", maxRetries: 0 })));
agents.setOpenAIAPI(api === "chat" ? "chat_completions" : "responses");

const toolOf = (t) => agents.tool({ name: t.name, description: t.description, parameters: { additionalProperties: true, ...t.parameters }, strict: false, execute: on.tool(t.name, t.run) });

function agentOf(task) {
  const tools = (task.tools ?? []).map(toolOf);
  if (task.sub) {
    const other = agentOf(task.sub);
    tools.push(asTool
      ? other.asTool({ toolName: task.sub.name, toolDescription: task.sub.description, parameters: task.sub.parameters, strict: false, inputBuilder: ({ params }) => params.question })
      : toolOf({ ...task.sub, run: async ({ question }) => (await agents.run(other, question)).finalOutput }));
  }
  return new agents.Agent({ name: task.name ?? "Assistant", instructions: task.system, model: model, tools });
}

let model = "";
const earlier = (m) => (m.role === "user" ? agents.user(m.content) : agents.assistant(m.content));
async function ask(task) {
  model = task.model;
  const input = task.history.length ? [...task.history.map(earlier), agents.user(task.user)] : task.user;
  const result = await agents.run(agentOf(task), input, { maxTurns: task.max_steps || 10, stream: task.stream });
  if (task.stream) await result.completed;
  return result.finalOutput;
}

await main((task) => on.root("assistant", () => ask(task), task.user), process.env.GROUP ?? `openai-agents-js-${INSTRUMENTATION}-${VARIANT}`, "gpt-4o-mini", async () => {
  await agents.getGlobalTraceProvider().forceFlush();
  await on.flush();
});
