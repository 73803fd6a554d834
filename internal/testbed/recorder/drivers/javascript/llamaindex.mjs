// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// LlamaIndex.TS. VARIANT is agent (a workflow of one agent) or loop (a loop by hand over its model).

import { createRequire } from "node:module";
import { INSTRUMENTATION, URL, VARIANT, main } from "./recorder.mjs";
import { instrument } from "./instrument.mjs";

const require = createRequire(import.meta.url); // the packages are loaded as CommonJS, which all of the instrumentations reach
const late = ["openlit", "sentry"].includes(INSTRUMENTATION);
const on = await instrument(INSTRUMENTATION, { bare: true, libraries: late ? {} : INSTRUMENTATION === "openinference" ? { openai: require("openai") } : { llamaindex: require("llamaindex"), openai: require("openai") } });
const { tool, Settings } = require("llamaindex");
const { agent } = require("@llamaindex/workflow");
const { OpenAI } = require("@llamaindex/openai");

const text = (value) => (typeof value === "string" ? value : JSON.stringify(value));
const llmOf = (name) => new OpenAI({ model: name, apiKey: "sk-test", baseURL: URL + "/v1", maxRetries: 0, additionalSessionOptions: { baseURL: URL + "/v1" } });

function toolset(task) {
  const made = (task.tools ?? []).map((t) => tool({ name: t.name, description: t.description, parameters: t.parameters, execute: on.inner(t.name, async (args) => text(await t.run(args))) }));
  if (task.sub) made.push(tool({ name: task.sub.name, description: task.sub.description, parameters: task.sub.parameters, execute: ({ question }) => ask({ ...task.sub, user: question, history: [], model: task.model }) }));
  return made;
}

async function workflow(task) {
  const made = agent({ name: task.name ?? "assistant", llm: Settings.llm, tools: toolset(task), systemPrompt: task.system, verbose: false });
  let late; // a run whose model fails is never over
  const { data } = await Promise.race([made.run(task.user, { chatHistory: task.history }), new Promise((_, reject) => { late = setTimeout(() => reject(new Error("the workflow does not end")), 4000); })]).finally(() => clearTimeout(late));
  return typeof data.result === "string" ? data.result : data.result?.content ?? data.message?.content;
}

async function loop(task) {
  const tools = toolset(task), messages = [{ role: "system", content: task.system }, ...task.history, { role: "user", content: task.user }];
  for (let step = 0; step < (task.max_steps || 10); step++) {
    const { message } = await Settings.llm.chat({ messages: [...messages], tools });
    messages.push(message);
    const calls = message.options?.toolCall ?? [];
    if (!calls.length) return message.content;
    for (const c of calls) {
      let result, isError = false;
      try {
        result = await tools.find((t) => t.metadata.name === c.name).call(typeof c.input === "string" ? JSON.parse(c.input) : c.input);
      } catch (e) {
        [result, isError] = [`Error: ${e.message}`, true];
      }
      messages.push({ role: "user", content: text(result), options: { toolResult: { id: c.id, result: text(result), isError } } });
    }
  }
  return null;
}

const ask = { agent: workflow, loop }[VARIANT];
await main((task) => {
  Settings.llm = llmOf(task.model);
  return on.root("assistant", () => ask(task), task.user);
}, process.env.GROUP ?? `llamaindexjs-${INSTRUMENTATION}-${VARIANT}`, "gpt-4o-mini", on.flush);
