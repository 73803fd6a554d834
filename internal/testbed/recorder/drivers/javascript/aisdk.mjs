// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// The AI SDK, versions 4 to 7. VARIANT is PROVIDER[-agent|-manual]: openai (Responses, or Chat before 5), chat, anthropic, google; with -agent its Agent class (5 and later), with -manual a
// loop by hand, with -answer the Agent class whose model answers by a tool that has no function (6 and later). TELEMETRY: more settings of the telemetry, as JSON.

import { createRequire } from "node:module";
import { INSTRUMENTATION, URL, VARIANT, call, main } from "./recorder.mjs";
import { instrument } from "./instrument.mjs";

const version = Number(createRequire(import.meta.url)("ai/package.json").version.split(".")[0]);
const [api = "openai", kind] = VARIANT.split("-");
const plain = INSTRUMENTATION === "langtrace" ? { ...createRequire(import.meta.url)("ai") } : await import("ai"); // Langtrace writes its functions over those of the module
const on = await instrument(INSTRUMENTATION, { bare: true, libraries: INSTRUMENTATION === "langtrace" ? { ai: plain } : {} });
if (version >= 7 && INSTRUMENTATION !== "langsmith" && INSTRUMENTATION !== "langfuse") {
  const { registerTelemetry } = plain;
  const otel = await import("@ai-sdk/otel");
  const { tracer } = on.telemetry; // from 7 on it belongs to the registered telemetry, not to the settings of a call
  registerTelemetry(kind === "legacy" || process.env.LEGACY ? new otel.LegacyOpenTelemetry({ tracer }) : new otel.OpenTelemetry({ tracer }));
} else if (version >= 7 && INSTRUMENTATION === "langfuse") {
  const { LangfuseVercelAiSdkIntegration } = await import("@langfuse/vercel-ai-sdk");
  plain.registerTelemetry(new LangfuseVercelAiSdkIntegration());
}
const ai = on.wrapAISDK ? on.wrapAISDK(plain) : plain;
const z = plain.jsonSchema;
Object.assign(on.telemetry, JSON.parse(process.env.TELEMETRY ?? "{}"));

async function model(name) {
  const v1 = { baseURL: URL + "/v1", apiKey: "sk-test" };
  let made;
  switch (api) {
    case "anthropic": made = (await import("@ai-sdk/anthropic")).createAnthropic(v1)(name); break;
    case "google": made = (await import("@ai-sdk/google")).createGoogleGenerativeAI({ baseURL: URL + "/v1beta", apiKey: "key" })(name); break;
    case "chat": made = (await import("@ai-sdk/openai")).createOpenAI({ ...v1, compatibility: "strict" }).chat(name); break;
    default: made = (await import("@ai-sdk/openai")).createOpenAI({ ...v1, compatibility: "strict" })(name);
  }
  return on.model ? on.model(made) : made;
}

function toolset(task) {
  const made = {};
  for (const t of task.tools ?? []) made[t.name] = plain.tool({ description: t.description, [version >= 5 ? "inputSchema" : "parameters"]: z(t.parameters), execute: on.inner(t.name, (args) => t.run(args)) });
  if (task.sub) {
    const sub = task.sub;
    made[sub.name] = plain.tool({
      description: sub.description, [version >= 5 ? "inputSchema" : "parameters"]: z(sub.parameters),
      execute: async ({ question }) => (await ask({ ...sub, user: question, history: [], model: task.model, stream: false, max_steps: 0 })).text,
    });
  }
  return on.wrapTools ? on.wrapTools(made) : made;
}

// manual is a loop by hand: a call of the SDK for each step, the tools run by the application, as one does that asks a person first.
async function manual(task) {
  const executes = toolset(task), tools = Object.fromEntries(Object.entries(executes).map(([name, { execute, ...rest }]) => [name, rest]));
  const telemetry = { ...on.telemetry, functionId: task.name ?? "assistant" };
  const messages = [...task.history, { role: "user", content: task.user }];
  for (let step = 0; step < (task.max_steps || 10); step++) {
    const settings = { model: await model(task.model), tools, messages: [...messages], [version >= 7 ? "instructions" : "system"]: task.system, maxRetries: 0, [version >= 7 ? "telemetry" : "experimental_telemetry"]: telemetry };
    let failure = null;
    const result = task.stream ? await ai.streamText({ ...settings, onError: ({ error }) => { failure = error; } }) : await ai.generateText(settings);
    if (task.stream) for await (const _ of result.textStream);
    if (failure) throw failure;
    const calls = (await result.toolCalls).filter((c) => !c.invalid);
    messages.push(...(await result.response).messages);
    if (!calls.length && (await result.finishReason) !== "tool-calls") return { text: await result.text };
    const content = await Promise.all(calls.map(async ({ toolCallId, toolName, input, args }) => {
      let output;
      try {
        const value = await executes[toolName].execute(input ?? args, {});
        output = typeof value === "string" ? { type: "text", value } : { type: "json", value };
      } catch (e) {
        output = { type: "error-text", value: e.message };
      }
      return { type: "tool-result", toolCallId, toolName, ...(version >= 5 ? { output } : { result: output.value }) };
    }));
    if (content.length) messages.push({ role: "tool", content });
  }
  return { text: null };
}

async function ask(task) {
  if (kind === "manual") return manual(task);
  const steps = task.max_steps || 10;
  const telemetry = { ...on.telemetry, functionId: task.name ?? "assistant" };
  const limit = version >= 5 ? { stopWhen: (plain.stepCountIs ?? plain.isStepCount)(steps) } : { maxSteps: steps };
  const settings = { model: await model(task.model), tools: toolset(task), ...limit, maxRetries: 0, [version >= 7 ? "telemetry" : "experimental_telemetry"]: telemetry };
  const prompt = task.history.length ? { messages: [...task.history, { role: "user", content: task.user }] } : { prompt: task.user };
  const system = { [version >= 7 ? "instructions" : "system"]: task.system };
  let failure = null;
  const onError = ({ error }) => { failure = error; };
  let result;
  if (kind === "answer") {
    const final = plain.tool({ description: "Give the final answer.", inputSchema: z({ type: "object", properties: { response: { type: "string" } }, required: ["response"] }) });
    const agent = new ai.ToolLoopAgent({ ...settings, tools: { ...settings.tools, final_answer: final }, toolChoice: "required", instructions: task.system, stopWhen: [limit.stopWhen, plain.hasToolCall("final_answer")] });
    result = task.stream ? await agent.stream(prompt) : await agent.generate(prompt);
    if (task.stream) for await (const part of result.fullStream) if (part.type === "error") throw part.error;
    const calls = await result.toolCalls;
    return { text: calls.find((c) => c.toolName === "final_answer")?.input.response ?? (await result.text) };
  }
  if (kind === "agent" || kind === "answer") {
    const Agent = ai.ToolLoopAgent ?? ai.Experimental_Agent ?? plain.Experimental_Agent;
    const agent = new Agent({ ...settings, [ai.ToolLoopAgent ? "instructions" : "system"]: task.system });
    result = task.stream ? await agent.stream(prompt) : await agent.generate(prompt);
  } else {
    result = task.stream ? await ai.streamText({ ...settings, ...system, ...prompt, onError }) : await ai.generateText({ ...settings, ...system, ...prompt });
  }
  if (!task.stream) return result;
  let text = "";
  for await (const part of result.fullStream) if (part.type === "error") failure ??= part.error; // an agent takes no onError
  if (failure) throw failure;
  text = await result.text;
  return { text };
}

await main(async (task) => (await on.root("chat", async () => (await ask(task)).text, task.user)), process.env.GROUP ?? `aisdk${version}-${INSTRUMENTATION}-${VARIANT}`,
  { anthropic: "claude-sonnet-4-5", google: "gemini-2.5-flash" }[api] ?? "gpt-4o-mini", on.flush, kind === "answer" ? { name: "final_answer", argument: "response" } : undefined);
