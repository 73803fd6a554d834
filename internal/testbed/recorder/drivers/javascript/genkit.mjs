// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Genkit for JavaScript. VARIANT is openai or google, with -flow the run is a flow.

import { INSTRUMENTATION, URL, VARIANT, main } from "./recorder.mjs";
import { instrument } from "./instrument.mjs";

const [api = "openai", flow] = VARIANT.split("-");
process.env.GOOGLE_GEMINI_BASE_URL = URL;
const on = await instrument(INSTRUMENTATION, { bare: true, all: true });
const { disableGenkitOTelInitialization } = await import("genkit/tracing");
disableGenkitOTelInitialization?.();
const { genkit, z } = await import("genkit");

async function plugin() {
  if (api === "google") return (await import("@genkit-ai/google-genai")).googleAI({ apiKey: "key", baseUrl: URL });
  return (await import("@genkit-ai/compat-oai")).openAICompatible({ name: "oai", apiKey: "sk-test", baseURL: URL + "/v1", maxRetries: 0 });
}

async function ask(task) {
  const ai = genkit({ plugins: [await plugin()] });
  const tools = (task.tools ?? []).map((t) => ai.defineTool({ name: t.name, description: t.description, inputJsonSchema: t.parameters, outputSchema: z.any() }, on.inner(t.name, (args) => t.run(args))));
  if (task.sub) {
    tools.push(ai.defineTool({ name: task.sub.name, description: task.sub.description, inputJsonSchema: task.sub.parameters, outputSchema: z.string() },
      ({ question }) => ask({ ...task.sub, user: question, history: [], model: task.model })));
  }
  const messages = task.history.map((m) => ({ role: m.role === "user" ? "user" : "model", content: [{ text: m.content }] }));
  const asked = { model: api === "google" ? "googleai/" + task.model : "oai/" + task.model, system: task.system, prompt: task.user, ...(messages.length ? { messages } : {}), tools, maxTurns: task.max_steps ? task.max_steps - 1 : 10 };
  const answer = async () => {
    if (!task.stream) return (await ai.generate(asked)).text;
    const { stream, response } = ai.generateStream(asked);
    for await (const _ of stream);
    return (await response).text;
  };
  if (!flow) return answer();
  return ai.defineFlow({ name: "assistant", inputSchema: z.string(), outputSchema: z.string() }, answer)(task.user);
}

await main((task) => on.root("chat", () => ask(task), task.user), process.env.GROUP ?? `genkitjs-${INSTRUMENTATION}-${VARIANT}`, api === "google" ? "gemini-2.5-flash" : "gpt-4o-mini", on.flush);
