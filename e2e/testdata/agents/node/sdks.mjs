// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// The official SDKs of OpenAI, Anthropic and Google against a model stub: SDK whole|streamed. The packages are those of the folder that NODE_AGENTS
// names. What the SDK read of both turns is printed: the first text, the calls, the last text.
import { createRequire } from "node:module";

const [sdk, way] = process.argv.slice(2);
const require = createRequire(process.env.NODE_AGENTS + "/package.json");
const base = process.env.MODEL_URL;
const streamed = way === "streamed";
const model = "m";
const SYSTEM = process.env.SYSTEM;
const QUESTION = process.env.QUESTION;
const stock = (name, args) => JSON.parse(process.env.RESULTS)[name + " " + args.sku];

const sdks = {
  async "openai-chat"() {
    const OpenAI = require("openai").OpenAI;
    const client = new OpenAI({ apiKey: "none", baseURL: base + "/v1", maxRetries: 0 });
    const messages = [{ role: "system", content: SYSTEM }, { role: "user", content: QUESTION }];
    const ask = async () => {
      if (streamed) return client.chat.completions.stream({ model, messages }).finalMessage();
      return (await client.chat.completions.create({ model, messages })).choices[0].message;
    };
    const first = await ask();
    const calls = first.tool_calls.map((c) => ({ name: c.function.name, args: JSON.parse(c.function.arguments) }));
    messages.push(first, ...first.tool_calls.map((c, i) => ({ role: "tool", tool_call_id: c.id, content: stock(calls[i].name, calls[i].args) })));
    return [first.content, calls, (await ask()).content];
  },
  async "openai-responses"() {
    const OpenAI = require("openai").OpenAI;
    const client = new OpenAI({ apiKey: "none", baseURL: base + "/v1", maxRetries: 0 });
    const ask = async (more) => {
      const body = { model, instructions: SYSTEM, ...more };
      return streamed ? client.responses.stream(body).finalResponse() : client.responses.create(body);
    };
    const first = await ask({ input: QUESTION });
    const asked = first.output.filter((o) => o.type === "function_call");
    const calls = asked.map((c) => ({ name: c.name, args: JSON.parse(c.arguments) }));
    const input = asked.map((c, i) => ({ type: "function_call_output", call_id: c.call_id, output: stock(calls[i].name, calls[i].args) }));
    const last = await ask({ input, previous_response_id: first.id });
    return [first.output_text, calls, last.output_text];
  },
  async anthropic() {
    const Anthropic = require("@anthropic-ai/sdk").Anthropic;
    const client = new Anthropic({ apiKey: "none", baseURL: base, maxRetries: 0 });
    const messages = [{ role: "user", content: QUESTION }];
    const ask = async () => {
      const body = { model, max_tokens: 100, system: SYSTEM, messages };
      return streamed ? client.messages.stream(body).finalMessage() : client.messages.create(body);
    };
    const text = (m) => m.content.filter((p) => p.type === "text").map((p) => p.text).join("");
    const first = await ask();
    const asked = first.content.filter((p) => p.type === "tool_use");
    const calls = asked.map((c) => ({ name: c.name, args: c.input }));
    messages.push({ role: "assistant", content: first.content });
    messages.push({ role: "user", content: asked.map((c) => ({ type: "tool_result", tool_use_id: c.id, content: stock(c.name, c.input) })) });
    return [text(first), calls, text(await ask())];
  },
  async google() {
    const { GoogleGenAI } = require("@google/genai");
    const client = new GoogleGenAI({ apiKey: "none", httpOptions: { baseUrl: base } });
    const contents = [{ role: "user", parts: [{ text: QUESTION }] }];
    const ask = async () => {
      const body = { model, contents, config: { systemInstruction: SYSTEM } };
      if (!streamed) return (await client.models.generateContent(body)).candidates[0].content.parts;
      const parts = [];
      for await (const chunk of await client.models.generateContentStream(body)) parts.push(...(chunk.candidates?.[0]?.content?.parts ?? []));
      return parts;
    };
    const text = (parts) => parts.map((p) => p.text ?? "").join("");
    const first = await ask();
    const asked = first.filter((p) => p.functionCall).map((p) => p.functionCall);
    contents.push({ role: "model", parts: first });
    contents.push({ role: "user", parts: asked.map((c) => ({ functionResponse: { id: c.id, name: c.name, response: JSON.parse(stock(c.name, c.args)) } })) });
    return [text(first), asked.map((c) => ({ name: c.name, args: c.args })), text(await ask())];
  },
};

const [first, calls, last] = await sdks[sdk]();
process.stdout.write(JSON.stringify({ first, calls, last }));
process.exit(0);
