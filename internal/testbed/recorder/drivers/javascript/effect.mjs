// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Effect AI (effect 3): a chat whose toolkit it runs, until there are no calls. Its own spans hold no content but the parameters of tools. VARIANT is responses.

import { INSTRUMENTATION, URL, VARIANT, main } from "./recorder.mjs";
import { instrument } from "./instrument.mjs";

const on = await instrument(INSTRUMENTATION, { bare: true });
const { Effect, Layer, Redacted, Schema } = await import("effect");
const { Chat, Tool, Toolkit } = await import("@effect/ai");
const { OpenAiClient, OpenAiLanguageModel } = await import("@effect/ai-openai");
const { FetchHttpClient } = await import("@effect/platform");
const { Tracer, Resource } = await import("@effect/opentelemetry");

const kinds = { string: Schema.String, number: Schema.Number, integer: Schema.Number, boolean: Schema.Boolean, object: Schema.Record({ key: Schema.String, value: Schema.Unknown }), array: Schema.Array(Schema.String) };
const fields = (parameters) => Object.fromEntries(Object.entries(parameters.properties).map(([name, p]) => [name, (parameters.required ?? []).includes(name) ? kinds[p.type] : Schema.optional(kinds[p.type])]));
const telemetry = Tracer.layerGlobal.pipe(Layer.provide(Resource.layer({ serviceName: "agent" })));

async function ask(task) {
  const given = [...(task.tools ?? [])];
  if (task.sub) given.push({ ...task.sub, run: ({ question }) => ask({ ...task.sub, user: question, history: [], model: task.model }) });
  const toolkit = Toolkit.make(...given.map((t) => Tool.make(t.name, { description: t.description, parameters: fields(t.parameters), success: Schema.Unknown, failure: Schema.String, failureMode: "return" })));
  const handlers = toolkit.toLayer(Object.fromEntries(given.map((t) => [t.name, (args) => Effect.tryPromise({ try: () => t.run(args), catch: (e) => e.message })])));
  const model = OpenAiLanguageModel.layer({ model: task.model }).pipe(Layer.provide(OpenAiClient.layer({ apiKey: Redacted.make("sk-test"), apiUrl: URL + "/v1" })), Layer.provide(FetchHttpClient.layer));
  const program = Effect.gen(function* () {
    const chat = yield* Chat.fromPrompt([{ role: "system", content: task.system }, ...task.history.map((m) => ({ role: m.role, content: [{ type: "text", text: m.content }] }))]);
    let prompt = task.user;
    for (let step = 0; step < (task.max_steps || 10); step++) {
      const response = yield* chat.generateText({ prompt, ...(given.length ? { toolkit } : {}) });
      if (!response.toolCalls.length) return response.text;
      prompt = [];
    }
    return null;
  }).pipe(Effect.withSpan("assistant", { attributes: { question: task.user } }));
  return Effect.runPromise(program.pipe(Effect.provide(handlers), Effect.provide(model), Effect.provide(telemetry)));
}

await main((task) => on.root("chat", () => ask(task), task.user), process.env.GROUP ?? `effectjs-${INSTRUMENTATION}-${VARIANT}`, "gpt-4o-mini", on.flush);
