// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// The Claude Agent SDK, whose tools are those of an MCP server in this process. INSTRUMENTATION is native (the runtime's own telemetry), openinference, langsmith or laminar.

import { mkdtempSync } from "node:fs";
import { INSTRUMENTATION, URL, VARIANT, main } from "./recorder.mjs";
import { instrument } from "./instrument.mjs";

const home = mkdtempSync("/tmp/claude-");
const native = INSTRUMENTATION === "native";
const on = native ? { flush: () => new Promise((done) => setTimeout(done, 300)), root: (name, f) => f(), tool: (name, f) => f } : await instrument(INSTRUMENTATION, { bare: true });
let sdk = { ...(await import("@anthropic-ai/claude-agent-sdk")) };
if (INSTRUMENTATION === "openinference") {
  const { ClaudeAgentSDKInstrumentation } = await import("@arizeai/openinference-instrumentation-claude-agent-sdk");
  new ClaudeAgentSDKInstrumentation().manuallyInstrument(sdk);
}
if (INSTRUMENTATION === "langsmith") sdk = (await import("langsmith/experimental/anthropic")).wrapClaudeAgentSDK(sdk);
const { z } = await import("zod");

const kinds = { string: () => z.string(), number: () => z.number(), integer: () => z.number().int(), boolean: () => z.boolean(), object: () => z.record(z.string(), z.any()), array: () => z.array(z.string()) };
const shape = (parameters) => Object.fromEntries(Object.entries(parameters.properties).map(([name, p]) => [name, (parameters.required ?? []).includes(name) ? kinds[p.type]() : kinds[p.type]().optional()]));
const text = (value) => (typeof value === "string" ? value : JSON.stringify(value));

function toolset(task) {
  const made = (task.tools ?? []).map((t) => sdk.tool(t.name, t.description, shape(t.parameters), async (args) => {
    try {
      return { content: [{ type: "text", text: text(await on.tool(t.name, t.run)(args)) }] };
    } catch (e) {
      return { content: [{ type: "text", text: e.message }], isError: true };
    }
  }));
  if (task.sub) made.push(sdk.tool(task.sub.name, task.sub.description, shape(task.sub.parameters), async ({ question }) => ({ content: [{ type: "text", text: text(await ask({ ...task.sub, user: question, model: task.model })) }] })));
  return made;
}

const telemetry = native ? {
  CLAUDE_CODE_ENABLE_TELEMETRY: "1", CLAUDE_CODE_ENHANCED_TELEMETRY_BETA: "1", ENABLE_BETA_TRACING_DETAILED: "1", BETA_TRACING_ENDPOINT: URL, OTEL_TRACES_EXPORTER: "otlp", OTEL_LOGS_EXPORTER: "otlp", OTEL_METRICS_EXPORTER: "none",
  OTEL_EXPORTER_OTLP_PROTOCOL: "http/protobuf", OTEL_EXPORTER_OTLP_ENDPOINT: URL, OTEL_LOG_USER_PROMPTS: "1", OTEL_LOG_TOOL_DETAILS: "1", OTEL_LOG_TOOL_CONTENT: "1", OTEL_LOGS_EXPORT_INTERVAL: "100", OTEL_TRACES_EXPORT_INTERVAL: "100",
} : {};

async function ask(task) {
  const tools = toolset(task);
  const options = {
    model: task.model, systemPrompt: task.system, tools: [], maxTurns: task.max_steps || 12, permissionMode: "bypassPermissions", allowDangerouslySkipPermissions: true, settingSources: [], cwd: home,
    env: { PATH: process.env.PATH, HOME: home, IS_SANDBOX: "1", ANTHROPIC_BASE_URL: URL, ANTHROPIC_API_KEY: "key", CLAUDE_CODE_MAX_RETRIES: "0", CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1", DISABLE_AUTOUPDATER: "1", DISABLE_TELEMETRY: native ? "" : "1", ...telemetry },
    ...(tools.length ? { mcpServers: { office: sdk.createSdkMcpServer({ name: "office", version: "1.0.0", tools }) }, allowedTools: tools.map((t) => `mcp__office__${t.name}`) } : {}),
    stderr: (line) => { if (process.env.VERBOSE) console.error(line); },
  };
  let result = null;
  for await (const message of sdk.query({ prompt: task.user, options })) if (message.type === "result") result = message;
  if (!result || result.is_error || result.subtype !== "success") throw new Error(result?.result ?? result?.errors?.join("; ") ?? result?.subtype ?? "no result");
  return result.result;
}

await main((task) => on.root("assistant", () => ask(task), task.user), process.env.GROUP ?? `claudeagentjs-${INSTRUMENTATION}-${VARIANT}`, "claude-sonnet-4-5", on.flush);
