// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Loops by hand over the SDKs of OpenAI (chat, parts, runtools, responses, chained), Anthropic (anthropic, toolrunner), Google (genai, and afc, where the SDK runs the functions), Groq (groq), Together (together), Mistral (mistral),
// Cohere (cohere), Ollama (ollama), Bedrock (converse) and Azure's inference (azure), as VARIANT says. VARIANT ends in -bare where the loop has no span of its own around it, in -mcp where the tools are those of an
// MCP server (mcp.mjs).

import { createRequire } from "node:module";
import { INSTRUMENTATION, URL, VARIANT, main } from "./recorder.mjs";
import { instrument } from "./instrument.mjs";

const require = createRequire(import.meta.url); // the packages are loaded as CommonJS, which all of the instrumentations reach
const [api = "chat", ...styles] = VARIANT.split("-");
const bare = styles.includes("bare"), overMCP = styles.includes("mcp");
const google = api === "genai" || api === "afc", claude = api === "anthropic" || api === "toolrunner";
const late = ["openlit", "sentry", "otel-openai", "elastic", "azure"].includes(INSTRUMENTATION); // they want to be there before the library
const packages = { groq: "groq-sdk", together: "together-ai", mistral: "@mistralai/mistralai", cohere: "cohere-ai", ollama: "ollama", converse: "@aws-sdk/client-bedrock-runtime", azure: "@azure-rest/ai-inference" };
const mcp = overMCP ? await import("./mcp.mjs") : null;
const load = () => ({ ...(mcp?.libraries ?? {}), ...(google ? { genai: require("@google/genai") } : claude ? { anthropic: require("@anthropic-ai/sdk") } : packages[api] ? { [api]: require(packages[api]) } : { openai: require("openai") }) });
const on = await instrument(INSTRUMENTATION, { libraries: late ? {} : load(), bare: true });
const sdk = load();

const clients = {
  groq: () => new sdk.groq.Groq({ baseURL: URL, apiKey: "key", maxRetries: 0 }),
  together: () => new sdk.together.Together({ baseURL: URL + "/v1", apiKey: "key", maxRetries: 0 }),
  mistral: () => new sdk.mistral.Mistral({ serverURL: URL, apiKey: "key", retryConfig: { strategy: "none" } }),
  cohere: () => new sdk.cohere.CohereClientV2({ environment: URL, baseUrl: URL, token: "key" }),
  ollama: () => new sdk.ollama.Ollama({ host: URL }),
  azure: () => sdk.azure.default(URL, new (require("@azure/core-auth").AzureKeyCredential)("key"), { allowInsecureConnection: true, retryOptions: { maxRetries: 0 } }),
  converse: () => new sdk.converse.BedrockRuntimeClient({ endpoint: URL, region: "us-east-1", credentials: { accessKeyId: "key", secretAccessKey: "key" }, maxAttempts: 1, requestHandler: new (require("@smithy/node-http-handler").NodeHttpHandler)() }),
};
const client = clients[api] ? clients[api]() : google
  ? new sdk.genai.GoogleGenAI({ apiKey: "key", httpOptions: { baseUrl: URL } })
  : claude
    ? on.anthropic(new sdk.anthropic.Anthropic({ baseURL: URL, apiKey: "key", maxRetries: 0 }))
    : on.openai(new sdk.openai.OpenAI({ baseURL: URL + "/v1", apiKey: "sk-test", maxRetries: 0 }));

async function toolset(task) {
  const given = mcp ? await mcp.served(task.tools ?? []) : task.tools ?? [];
  const made = given.map((t) => ({ ...t, run: on.tool(t.name, t.run) }));
  if (task.sub) made.push({ ...task.sub, tools: undefined, run: on.tool(task.sub.name, ({ question }) => ask({ ...task.sub, user: question, history: [], model: task.model, stream: task.stream })) });
  return made;
}

// execute runs the calls of a turn at the same time; a failure is told to the model.
const execute = (tools, calls) => Promise.all(calls.map(async ({ name, args, id }) => {
  try {
    const result = await (tools.find((t) => t.name === name)?.run(args) ?? Promise.reject(new Error(`no tool ${name}`)));
    return { id, name, text: typeof result === "string" ? result : JSON.stringify(result), result };
  } catch (e) {
    return { id, name, text: `Error: ${e.message}`, failed: true };
  }
}));

async function camel(task, { ask, stream }) {
  const tools = await toolset(task), messages = [{ role: "system", content: task.system }, ...task.history, { role: "user", content: task.user }];
  for (let step = 0; step < (task.max_steps || 10); step++) {
    const asked = { model: task.model, messages, ...(tools.length ? { tools: tools.map((t) => ({ type: "function", function: { name: t.name, description: t.description, parameters: t.parameters } })) } : {}) };
    let message = {};
    if (task.stream) {
      let content = "";
      const calls = [];
      for await (const piece of stream(asked)) {
        content += piece.content ?? "";
        for (const part of piece.toolCalls ?? []) {
          const call = (calls[part.index ?? calls.length] ??= { id: part.id, type: "function", function: { name: part.function.name, arguments: "" } });
          call.function.arguments += typeof part.function.arguments === "object" ? JSON.stringify(part.function.arguments) : (part.function.arguments ?? "");
        }
      }
      message = { content, ...(calls.length ? { toolCalls: calls } : {}) };
    } else message = await ask(asked);
    const text = Array.isArray(message.content) ? message.content.map((part) => part.text ?? "").join("") : message.content;
    messages.push(message.toolCalls?.length ? { role: "assistant", ...(text ? { content: text } : {}), toolCalls: message.toolCalls } : { role: "assistant", content: text });
    if (!message.toolCalls?.length) return text;
    const calls = message.toolCalls.map((c) => ({ id: c.id, name: c.function.name, args: typeof c.function.arguments === "string" ? JSON.parse(c.function.arguments || "{}") : c.function.arguments }));
    for (const r of await execute(tools, calls)) messages.push({ role: "tool", toolCallId: r.id, content: r.text, ...(api === "mistral" ? { name: r.name } : {}) });
  }
  return null;
}

const loops = {
  async chat(task) {
    const tools = await toolset(task), messages = [{ role: "system", content: task.system }, ...task.history, { role: "user", content: task.user }];
    for (let step = 0; step < (task.max_steps || 10); step++) {
      const asked = { model: task.model, messages, ...(tools.length ? { tools: tools.map((t) => ({ type: "function", function: { name: t.name, description: t.description, parameters: t.parameters } })) } : {}) };
      let message = {};
      if (task.stream) {
        message = { role: "assistant", content: "", tool_calls: [] };
        for await (const { choices: [choice] } of await client.chat.completions.create({ ...asked, stream: true, stream_options: { include_usage: true } })) {
          message.content += choice?.delta?.content ?? "";
          for (const piece of choice?.delta?.tool_calls ?? []) {
            const call = (message.tool_calls[piece.index] ??= { id: piece.id, type: "function", function: { name: piece.function.name, arguments: "" } });
            call.function.arguments += piece.function.arguments ?? "";
          }
        }
        if (!message.tool_calls.length) delete message.tool_calls;
      } else message = (await client.chat.completions.create(asked)).choices[0].message;
      messages.push(message);
      if (!message.tool_calls) return message.content;
      for (const r of await execute(tools, message.tool_calls.map((c) => ({ id: c.id, name: c.function.name, args: JSON.parse(c.function.arguments) })))) messages.push({ role: "tool", tool_call_id: r.id, content: r.text });
    }
    return null;
  },
  // Mistral, Cohere: names in camelCase.
  mistral: (task) => camel(task, {
    ask: (asked) => client.chat.complete(asked).then((r) => r.choices[0].message), stream: async function* (asked) { for await (const { data } of await client.chat.stream(asked)) yield data.choices[0]?.delta ?? {}; },
  }),
  cohere: (task) => camel(task, {
    ask: (asked) => client.chat(asked, { maxRetries: 0 }).then((r) => r.message),
    stream: async function* (asked) {
      for await (const event of await client.chatStream(asked, { maxRetries: 0 })) {
        const message = event.delta?.message ?? {};
        if (event.type === "content-delta") yield { content: message.content?.text };
        if (event.type === "tool-call-start" || event.type === "tool-call-delta") yield { toolCalls: [{ index: event.index, ...(message.toolCalls ?? message.tool_calls) }] };
      }
    },
  }),
  async ollama(task) {
    const tools = await toolset(task), messages = [{ role: "system", content: task.system }, ...task.history, { role: "user", content: task.user }];
    for (let step = 0; step < (task.max_steps || 10); step++) {
      const asked = { model: task.model, messages, tools: tools.map((t) => ({ type: "function", function: { name: t.name, description: t.description, parameters: t.parameters } })) };
      let message = {};
      if (task.stream) {
        message = { role: "assistant", content: "", tool_calls: [] };
        for await (const part of await client.chat({ ...asked, stream: true })) {
          message.content += part.message.content ?? "";
          message.tool_calls.push(...(part.message.tool_calls ?? []));
        }
      } else message = (await client.chat(asked)).message;
      messages.push(message);
      if (!message.tool_calls?.length) return message.content;
      for (const r of await execute(tools, message.tool_calls.map((c) => ({ name: c.function.name, args: c.function.arguments })))) messages.push({ role: "tool", tool_name: r.name, content: r.text });
    }
    return null;
  },
  // No streams: the client hands on the bytes of one.
  async azure(task) {
    const { context } = await import("@opentelemetry/api");
    const tools = await toolset(task), messages = [{ role: "system", content: task.system }, ...task.history, { role: "user", content: task.user }];
    for (let step = 0; step < (task.max_steps || 10); step++) {
      const body = { model: task.model, messages, ...(tools.length ? { tools: tools.map((t) => ({ type: "function", function: { name: t.name, description: t.description, parameters: t.parameters } })) } : {}) };
      const response = await client.path("/chat/completions").post({ body, tracingOptions: { tracingContext: context.active() } });
      if (sdk.azure.isUnexpected(response)) throw new Error(response.body.error?.message ?? `status ${response.status}`);
      const { message } = response.body.choices[0];
      messages.push(message);
      if (!message.tool_calls?.length) return message.content;
      for (const r of await execute(tools, message.tool_calls.map((c) => ({ id: c.id, name: c.function.name, args: JSON.parse(c.function.arguments) })))) messages.push({ role: "tool", tool_call_id: r.id, content: r.text });
    }
    return null;
  },
  async converse(task) {
    const { ConverseCommand, ConverseStreamCommand } = sdk.converse;
    const tools = await toolset(task), messages = [...task.history, { role: "user", content: task.user }].map((m) => ({ role: m.role, content: [{ text: m.content }] }));
    for (let step = 0; step < (task.max_steps || 10); step++) {
      const asked = { modelId: task.model, system: [{ text: task.system }], messages, ...(tools.length ? { toolConfig: { tools: tools.map((t) => ({ toolSpec: { name: t.name, description: t.description, inputSchema: { json: t.parameters } } })) } } : {}) };
      let content = [];
      if (task.stream) {
        for await (const event of (await client.send(new ConverseStreamCommand(asked))).stream) {
          const { start, delta, contentBlockIndex: i } = event.contentBlockStart ?? event.contentBlockDelta ?? {};
          if (start?.toolUse) content[i] = { toolUse: { ...start.toolUse, input: "" } };
          if (delta?.text) content[i] = { text: (content[i]?.text ?? "") + delta.text };
          if (delta?.toolUse) content[i].toolUse.input += delta.toolUse.input ?? "";
        }
        content = content.filter(Boolean);
        for (const block of content) if (block.toolUse) block.toolUse.input = JSON.parse(block.toolUse.input || "{}");
      } else content = (await client.send(new ConverseCommand(asked))).output.message.content;
      messages.push({ role: "assistant", content });
      const calls = content.filter((block) => block.toolUse).map((block) => block.toolUse);
      if (!calls.length) return content.map((block) => block.text ?? "").join("");
      messages.push({ role: "user", content: (await execute(tools, calls.map((c) => ({ id: c.toolUseId, name: c.name, args: c.input })))).map((r) => ({ toolResult: { toolUseId: r.id, content: [{ text: r.text }], status: r.failed ? "error" : "success" } })) });
    }
    return null;
  },
  async runtools(task) {
    const tools = (await toolset(task)).map((t) => ({ type: "function", function: { name: t.name, description: t.description, parameters: t.parameters, parse: JSON.parse, function: async (args) => { const r = await t.run(args); return typeof r === "string" ? r : JSON.stringify(r); } } }));
    const messages = [{ role: "system", content: task.system }, ...task.history, { role: "user", content: task.user }];
    if (!tools.length) return (await client.chat.completions.create({ model: task.model, messages })).choices[0].message.content;
    const runner = client.chat.completions.runTools({ model: task.model, messages, tools, stream: task.stream }, { maxChatCompletions: task.max_steps || 10 });
    return runner.finalContent();
  },
  async responses(task) {
    const tools = await toolset(task), input = [...task.history, { role: "user", content: task.user }];
    for (let step = 0; step < (task.max_steps || 10); step++) {
      const asked = { model: task.model, instructions: task.system, input, tools: tools.map((t) => ({ type: "function", name: t.name, description: t.description, parameters: t.parameters, strict: false })) };
      let answer = null;
      if (task.stream) {
        for await (const event of await client.responses.create({ ...asked, stream: true })) if (event.type === "response.completed") answer = event.response;
      } else answer = await client.responses.create(asked);
      input.push(...answer.output);
      const calls = answer.output.filter((item) => item.type === "function_call");
      if (!calls.length) return answer.output.flatMap((item) => item.content ?? []).map((part) => part.text).join("");
      for (const r of await execute(tools, calls.map((c) => ({ id: c.call_id, name: c.name, args: JSON.parse(c.arguments) })))) input.push({ type: "function_call_output", call_id: r.id, output: r.text });
    }
    return null;
  },
  // The conversation is kept by the provider: a request says what is new.
  async chained(task) {
    const tools = await toolset(task);
    let input = [...task.history, { role: "user", content: task.user }], previous;
    for (let step = 0; step < (task.max_steps || 10); step++) {
      const asked = { model: task.model, instructions: task.system, input, previous_response_id: previous, tools: tools.map((t) => ({ type: "function", name: t.name, description: t.description, parameters: t.parameters, strict: false })) };
      let answer = null;
      if (task.stream) {
        for await (const event of await client.responses.create({ ...asked, stream: true })) if (event.type === "response.completed") answer = event.response;
      } else answer = await client.responses.create(asked);
      previous = answer.id;
      const calls = answer.output.filter((item) => item.type === "function_call");
      if (!calls.length) return answer.output_text ?? answer.output.flatMap((item) => item.content ?? []).map((part) => part.text).join("");
      input = (await execute(tools, calls.map((c) => ({ id: c.call_id, name: c.name, args: JSON.parse(c.arguments) })))).map((r) => ({ type: "function_call_output", call_id: r.id, output: r.text }));
    }
    return null;
  },
  // Contents as lists of parts, the role developer, one call of a turn after another, a failure told as JSON.
  async parts(task) {
    const tools = await toolset(task), part = (text) => [{ type: "text", text }];
    const messages = [{ role: "developer", content: part(task.system) }, ...task.history.map((m) => ({ role: m.role, content: part(m.content) })), { role: "user", content: part(task.user) }];
    for (let step = 0; step < (task.max_steps || 10); step++) {
      const asked = { model: task.model, messages, temperature: 0.2, ...(tools.length ? { tool_choice: "auto", tools: tools.map((t) => ({ type: "function", function: { name: t.name, description: t.description, parameters: t.parameters } })) } : {}) };
      const message = task.stream ? await client.chat.completions.stream(asked).finalMessage() : (await client.chat.completions.create(asked)).choices[0].message;
      messages.push(message);
      if (!message.tool_calls?.length) return message.content;
      for (const c of message.tool_calls) {
        const [r] = await execute(tools, [{ id: c.id, name: c.function.name, args: JSON.parse(c.function.arguments) }]);
        messages.push({ role: "tool", tool_call_id: c.id, content: r.failed ? JSON.stringify({ error: r.text.replace(/^Error: /, "") }) : r.text });
      }
    }
    return null;
  },
  async anthropic(task) {
    const tools = await toolset(task), messages = [...task.history, { role: "user", content: task.user }];
    for (let step = 0; step < (task.max_steps || 10); step++) {
      const asked = { model: task.model, max_tokens: 1024, system: task.system, messages: [...messages], ...(tools.length ? { tools: tools.map((t) => ({ name: t.name, description: t.description, input_schema: t.parameters })) } : {}) };
      const answer = task.stream ? await client.messages.stream(asked).finalMessage() : await client.messages.create(asked);
      messages.push({ role: "assistant", content: answer.content });
      const calls = answer.content.filter((block) => block.type === "tool_use");
      if (!calls.length) return answer.content.map((block) => block.text).join("");
      messages.push({ role: "user", content: (await execute(tools, calls.map((c) => ({ id: c.id, name: c.name, args: c.input })))).map((r) => ({ type: "tool_result", tool_use_id: r.id, content: r.text, ...(r.failed ? { is_error: true } : {}) })) });
    }
    return null;
  },
  async toolrunner(task) {
    const tools = (await toolset(task)).map((t) => ({ name: t.name, description: t.description, input_schema: t.parameters, parse: (args) => args, run: async (args) => { const r = await t.run(args); return typeof r === "string" ? r : JSON.stringify(r); } }));
    const messages = [...task.history, { role: "user", content: task.user }];
    const runner = client.beta.messages.toolRunner({ model: task.model, max_tokens: 1024, system: task.system, messages, tools, max_iterations: task.max_steps || 10 });
    return (await runner).content.map((block) => block.text ?? "").join("");
  },
  // The SDK runs the functions itself.
  async afc(task) {
    const tools = await toolset(task), contents = [...task.history.map((m) => ({ role: m.role === "user" ? "user" : "model", parts: [{ text: m.content }] })), { role: "user", parts: [{ text: task.user }] }];
    const callable = {
      tool: async () => ({ functionDeclarations: tools.map((t) => ({ name: t.name, description: t.description, parametersJsonSchema: t.parameters })) }),
      callTool: async (calls) => (await execute(tools, calls)).map((r) => ({ functionResponse: { name: r.name, response: r.failed ? { error: r.text } : { output: r.result } } })),
    };
    const config = { systemInstruction: task.system, ...(tools.length ? { tools: [callable], automaticFunctionCalling: { maximumRemoteCalls: task.max_steps || 10 } } : {}) };
    if (!task.stream) return (await client.models.generateContent({ model: task.model, contents, config })).text;
    let said = "";
    for await (const chunk of await client.models.generateContentStream({ model: task.model, contents, config })) said = chunk.functionCalls?.length ? "" : said + (chunk.text ?? ""); // what it said before its calls is no answer
    return said;
  },
  async genai(task) {
    const tools = await toolset(task), contents = [...task.history.map((m) => ({ role: m.role === "user" ? "user" : "model", parts: [{ text: m.content }] })), { role: "user", parts: [{ text: task.user }] }];
    const config = { systemInstruction: task.system, ...(tools.length ? { tools: [{ functionDeclarations: tools.map((t) => ({ name: t.name, description: t.description, parametersJsonSchema: t.parameters })) }] } : {}) };
    for (let step = 0; step < (task.max_steps || 10); step++) {
      let parts = [];
      if (task.stream) for await (const chunk of await client.models.generateContentStream({ model: task.model, contents, config })) parts.push(...(chunk.candidates?.[0]?.content?.parts ?? []));
      else parts = (await client.models.generateContent({ model: task.model, contents, config })).candidates[0].content.parts;
      contents.push({ role: "model", parts });
      const calls = parts.filter((part) => part.functionCall).map((part) => part.functionCall);
      if (!calls.length) return parts.map((part) => part.text ?? "").join("");
      contents.push({ role: "user", parts: (await execute(tools, calls)).map((r) => ({ functionResponse: { name: r.name, response: r.failed ? { error: r.text } : { output: r.result } } })) });
    }
    return null;
  },
};

const ask = loops[api] ?? loops.chat; // Groq and Together speak as OpenAI does
const root = bare ? (name, f) => f() : on.root;
await main((task) => root("assistant", () => ask(task), task.user), process.env.GROUP ?? `sdkjs-${INSTRUMENTATION}-${VARIANT}`, google ? "gemini-2.5-flash" : claude ? "claude-sonnet-4-5" : "gpt-4o-mini", on.flush);
