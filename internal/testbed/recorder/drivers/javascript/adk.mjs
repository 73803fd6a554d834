// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// The Agent Development Kit for TypeScript. VARIANT is gemini, with -agent the other agent is one by AgentTool.

import { INSTRUMENTATION, URL, VARIANT, main } from "./recorder.mjs";
import { instrument } from "./instrument.mjs";

Object.assign(process.env, { GOOGLE_GEMINI_BASE_URL: URL, GEMINI_API_KEY: "key", GOOGLE_GENAI_API_KEY: "key" });
const on = await instrument(INSTRUMENTATION, { bare: true });
const adk = await import("@google/adk");
const { setDefaultBaseUrls } = await import("@google/genai");
setDefaultBaseUrls?.({ geminiUrl: URL });

function agentOf(task) {
  const tools = (task.tools ?? []).map((t) => new adk.FunctionTool({ name: t.name, description: t.description, parameters: t.parameters, execute: on.inner(t.name, (args) => t.run(args)) }));
  if (task.sub) {
    tools.push(VARIANT.endsWith("-agent")
      ? new adk.AgentTool({ agent: agentOf({ ...task.sub, model: task.model }) })
      : new adk.FunctionTool({ name: task.sub.name, description: task.sub.description, parameters: task.sub.parameters, execute: ({ question }) => ask({ ...task.sub, user: question, history: [], model: task.model }) }));
  }
  return new adk.LlmAgent({ name: task.name ?? "assistant", description: task.description ?? "Answers.", model: new adk.Gemini({ model: task.model, apiKey: "key" }), instruction: task.system, tools });
}

async function ask(task) {
  const agent = agentOf(task), runner = new adk.InMemoryRunner({ agent, appName: "office" });
  const session = await runner.sessionService.createSession({ appName: "office", userId: "u1" });
  for (const m of task.history) {
    await runner.sessionService.appendEvent({ session, event: adk.createEvent({ author: m.role === "user" ? "user" : agent.name, content: { role: m.role === "user" ? "user" : "model", parts: [{ text: m.content }] } }) });
  }
  const runConfig = { ...(task.max_steps ? { maxLlmCalls: task.max_steps } : {}), ...(task.stream ? { streamingMode: adk.StreamingMode.SSE } : {}) };
  let said = null;
  for await (const event of runner.runAsync({ userId: "u1", sessionId: session.id, newMessage: { role: "user", parts: [{ text: task.user }] }, runConfig })) {
    if (event.errorMessage) throw new Error(event.errorMessage);
    if (!event.partial && adk.isFinalResponse(event)) said = (event.content?.parts ?? []).map((part) => part.text ?? "").join("");
  }
  return said;
}

await main((task) => on.root("chat", () => ask(task), task.user), process.env.GROUP ?? `adkjs-${INSTRUMENTATION}-${VARIANT}`, "gemini-2.5-flash", on.flush);
