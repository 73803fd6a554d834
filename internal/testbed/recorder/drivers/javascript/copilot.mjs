// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// The Copilot SDK with a provider of one's own; the runtime exports its spans itself. VARIANT is openai (Chat), responses or anthropic.

import { mkdtempSync } from "node:fs";
import { INSTRUMENTATION, URL, VARIANT, main } from "./recorder.mjs";

const { CopilotClient, approveAll, defineTool } = await import("@github/copilot-sdk");
const home = mkdtempSync("/tmp/copilot-");
let client = null;

async function started() {
  if (client) return client;
  client = new CopilotClient({
    ...(process.env.COPILOT_CLI ? { cliPath: process.env.COPILOT_CLI } : {}), cwd: home, useLoggedInUser: false, logLevel: "error", env: { ...process.env, HOME: home, XDG_CONFIG_HOME: home },
    telemetry: { otlpEndpoint: URL, exporterType: "otlp-http", captureContent: INSTRUMENTATION !== "nocontent" },
  });
  await client.start();
  return client;
}

const provider = () => (VARIANT === "anthropic" ? { type: "anthropic", baseUrl: URL, apiKey: "key" } : { type: "openai", baseUrl: URL + "/v1", apiKey: "sk-test", wireApi: VARIANT === "responses" ? "responses" : "completions" });

function toolset(task) {
  const made = (task.tools ?? []).map((t) => defineTool(t.name, { description: t.description, parameters: t.parameters, handler: (args) => t.run(args) }));
  if (task.sub) made.push(defineTool(task.sub.name, { description: task.sub.description, parameters: task.sub.parameters, handler: ({ question }) => ask({ ...task.sub, user: question, history: [], model: task.model }) }));
  return made;
}

async function ask(task) {
  const tools = toolset(task);
  const session = await (await started()).createSession({
    model: task.model, provider: provider(), tools, availableTools: tools.map((t) => t.name), streaming: Boolean(task.stream), systemMessage: { mode: "replace", content: task.system }, onPermissionRequest: approveAll,
    infiniteSessions: { enabled: false },
  });
  let failure = null;
  session.on((event) => { if (event.type === "session.error") failure = new Error(event.data.message); });
  try {
    const said = await session.sendAndWait({ prompt: task.user }, 60000);
    if (failure) throw failure;
    return said?.data.content;
  } finally {
    await (session.disconnect ?? session.destroy).call(session);
  }
}

// The runtime exports what it holds when it ends.
await main(ask, process.env.GROUP ?? `copilotjs-${INSTRUMENTATION}-${VARIANT}`, VARIANT === "anthropic" ? "claude-sonnet-4-5" : "gpt-4.1", async () => {
  await client?.stop();
  client = null;
  await new Promise((done) => setTimeout(done, 300));
});
