// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// LlamaIndex.TS before 0.10, whose agents are runners of steps. VARIANT is openai (OpenAIAgent) or react (ReActAgent).

import { createRequire } from "node:module";
import { INSTRUMENTATION, URL, VARIANT, main } from "./recorder.mjs";
import { instrument } from "./instrument.mjs";

const require = createRequire(import.meta.url);
const llamaindex = require("llamaindex");
const on = await instrument(INSTRUMENTATION, { bare: true, libraries: { llamaindex } });
const { FunctionTool, OpenAI } = llamaindex;

function agentOf(task) {
  const tools = (task.tools ?? []).map((t) => FunctionTool.from((args) => t.run(args).then((r) => (typeof r === "string" ? r : JSON.stringify(r))), { name: t.name, description: t.description, parameters: t.parameters }));
  if (task.sub) {
    const sub = { ...task.sub, model: task.model, history: [] };
    tools.push(FunctionTool.from(({ question }) => ask({ ...sub, user: question }), { name: sub.name, description: sub.description, parameters: sub.parameters }));
  }
  const llm = new OpenAI({ model: task.model, apiKey: "sk-test", maxRetries: 0, additionalSessionOptions: { baseURL: URL + "/v1" } });
  const chatHistory = [...(VARIANT === "react" ? [{ role: "system", content: task.system }] : []), ...task.history.map(({ role, content }) => ({ role, content }))];
  return new llamaindex[VARIANT === "react" ? "ReActAgent" : "OpenAIAgent"]({ llm, tools, systemPrompt: task.system, chatHistory });
}

async function ask(task) {
  const agent = agentOf(task), text = (answer) => (typeof answer === "string" ? answer : answer.map((part) => part.text ?? "").join(""));
  if (!task.stream) return text((await agent.chat({ message: task.user })).message.content);
  let said = "";
  for await (const piece of await agent.chat({ message: task.user, stream: true })) said += piece.delta ?? "";
  return said;
}

await main((task) => on.root("assistant", () => ask(task), task.user), process.env.GROUP ?? `llamaindexjs-${INSTRUMENTATION}-${VARIANT}`, "gpt-4o-mini", on.flush);
