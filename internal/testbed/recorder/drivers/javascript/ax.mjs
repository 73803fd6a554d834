// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Ax. VARIANT is chat (a loop by hand over its service) or agent (a program with functions, whose question and answer are fields).

import { INSTRUMENTATION, URL, VARIANT, main } from "./recorder.mjs";
import { instrument } from "./instrument.mjs";

const on = await instrument(INSTRUMENTATION, { bare: true });
const { trace } = await import("@opentelemetry/api");
const { ai, ax, axGlobals } = await import("@ax-llm/ax");
const tracer = trace.getTracer("agent");
axGlobals.tracer = tracer;

const service = (task) => ai({ name: "openai", apiKey: "sk-test", apiURL: URL + "/v1", config: { model: task.model, stream: task.stream }, options: { tracer, excludeContentFromTrace: false, retry: { maxRetries: 0 } } });

function functions(task) {
  const made = (task.tools ?? []).map((t) => ({ name: t.name, description: t.description, parameters: t.parameters, func: async (args) => text(await t.run(args)) }));
  if (task.sub) made.push({ name: task.sub.name, description: task.sub.description, parameters: task.sub.parameters, func: ({ question }) => ask({ ...task.sub, user: question, history: [], model: task.model, stream: false }) });
  return made;
}

const text = (value) => (typeof value === "string" ? value : JSON.stringify(value));

async function agent(task) {
  const program = ax("question:string -> answer:string", { functions: functions(task) });
  program.setInstruction(task.system);
  const options = { stream: task.stream, tracer, excludeContentFromTrace: false, maxRetries: 1, ...(task.max_steps ? { maxSteps: task.max_steps } : {}) };
  return (await program.forward(service(task), { question: task.user }, options)).answer;
}

async function chat(task) {
  const llm = service(task), tools = functions(task), chatPrompt = [{ role: "system", content: task.system }, ...task.history, { role: "user", content: task.user }];
  for (let step = 0; step < (task.max_steps || 10); step++) {
    const response = await llm.chat({ chatPrompt: [...chatPrompt], ...(tools.length ? { functions: tools.map(({ func, ...t }) => t) } : {}) }, { stream: task.stream });
    let result = response.results?.[0];
    if (!result) {
      result = { content: "", functionCalls: [] };
      for await (const { results: [piece] } of response) {
        result.content += piece?.content ?? "";
        for (const call of piece?.functionCalls ?? []) {
          const known = result.functionCalls.find((c) => c.id === call.id);
          if (known) known.function.params += call.function.params ?? "";
          else result.functionCalls.push({ ...call, function: { ...call.function } });
        }
      }
    }
    if (!result.functionCalls?.length) return result.content;
    chatPrompt.push({ role: "assistant", content: result.content, functionCalls: result.functionCalls });
    chatPrompt.push(...(await Promise.all(result.functionCalls.map(async ({ id, function: { name, params } }) => {
      try {
        const tool = tools.find((t) => t.name === name);
        if (!tool) throw new Error(`no tool ${name}`);
        return { role: "function", functionId: id, result: await tool.func(typeof params === "string" ? JSON.parse(params) : params) };
      } catch (e) {
        return { role: "function", functionId: id, result: `Error: ${e.message}`, isError: true };
      }
    }))));
  }
  return null;
}

const ask = { agent, chat }[VARIANT];
await main((task) => on.root("assistant", () => ask(task), task.user), process.env.GROUP ?? `axjs-${INSTRUMENTATION}-${VARIANT}`, "gpt-4o-mini", on.flush);
