// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// More instrumentations, of platforms that few frameworks know, set up as their documents show it. What each gives stands at the head of instrument.mjs, whose functions are handed over.

import { createRequire } from "node:module";
import { URL } from "./recorder.mjs";

const require = createRequire(import.meta.url);
const pause = (ms) => new Promise((done) => setTimeout(done, ms));

export const platforms = ({ plain, provider, simple }) => ({
  // Raindrop's package for the AI SDK: it writes OTLP as JSON itself, without OpenTelemetry's SDK. It has ids in base64, as JSON of protobuf does and OTLP's does not: they are made hexadecimal.
  async raindrop() {
    const fetch = globalThis.fetch;
    const hex = (body) => body.replace(/"(traceId|spanId|parentSpanId)":"([^"]*)"/g, (_, name, id) => `"${name}":"${Buffer.from(id, "base64").toString("hex")}"`);
    globalThis.fetch = (url, init) => fetch(url, String(url).endsWith("/traces") ? { ...init, body: hex(init.body) } : init);
    const { createRaindropAISDK, eventMetadata } = await import("@raindrop-ai/ai-sdk");
    const raindrop = createRaindropAISDK({ writeKey: "rd-1", endpoint: URL + "/v1/", localWorkshopUrl: false });
    return plain({
      flush: () => raindrop.flush(), telemetry: { isEnabled: true, metadata: eventMetadata({ userId: "u-17" }) },
      wrapAISDK: (ai) => raindrop.wrap(ai, { context: { userId: "u-17", convoId: "c-9", eventName: "chat_message" } }),
    });
  },
  // Raindrop's SDK for any program, whose spans of clients are Traceloop's: an interaction is begun and finished around the agent.
  async "raindrop-sdk"({ libraries = {} }) {
    const { Raindrop } = require("raindrop-ai");
    const names = { openai: "openAI", anthropic: "anthropic" };
    const instrumentModules = Object.fromEntries(Object.entries(libraries).filter(([name]) => names[name]).map(([name, module]) => [names[name], name === "openai" ? module.default ?? module : module]));
    const raindrop = new Raindrop({ writeKey: "rd-1", endpoint: URL + "/v1/", instrumentModules, disableBatch: true, localWorkshopUrl: false });
    let count = 0, current;
    return plain({
      flush: async () => { await raindrop.forceFlush(); await pause(100); },
      root: async (name, f, input) => {
        const interaction = current = raindrop.begin({ eventId: `event-${process.pid}-${++count}`, event: "chat_message", userId: "u-17", convoId: "c-9", input, model: "gpt-4o-mini" });
        const output = await interaction.withSpan({ name, inputParameters: [input] }, f);
        interaction.finish({ output: output ?? "" });
        return output;
      },
      tool: (name, f) => (args) => current.withTool({ name, inputParameters: args }, () => f(args)),
    });
  },
  // Paid: its wrapper of OpenAI's client, its instrumentation of Anthropic's (OpenInference), the spans of the AI SDK renamed.
  async paid({ libraries = {} }) {
    process.env.PAID_OTEL_COLLECTOR_ENDPOINT = URL + "/v1/traces";
    const paid = require("@paid-ai/paid-node/tracing");
    paid.initializeTracing("paid-1", { collectorEndpoint: URL + "/v1/traces", registerGlobal: true });
    if (libraries.anthropic) await paid.paidAutoInstrumentModules?.({ anthropic: libraries.anthropic });
    return plain({
      flush: () => paid.getPaidTracerProvider().forceFlush(),
      root: (name, f) => paid.trace({ externalCustomerId: "customer-3", externalProductId: name, storePrompt: true }, f),
      openai: (client) => new (require("@paid-ai/paid-node/openai").PaidOpenAI)(client),
      get telemetry() { return { isEnabled: true }; },
    });
  },
  // Phoenix's own package, the functions of an application wrapped by its helpers.
  async phoenix({ libraries = {} }) {
    const { register, traceAgent, traceTool } = await import("@arizeai/phoenix-otel");
    const instrumentations = [];
    if (libraries.openai) {
      const { OpenAIInstrumentation } = await import("@arizeai/openinference-instrumentation-openai");
      instrumentations.push(new OpenAIInstrumentation());
      instrumentations[0].manuallyInstrument(libraries.openai.default ?? libraries.openai);
    }
    const made = register({ projectName: "agents", spanProcessors: [await simple()], instrumentations });
    return plain({ flush: () => made.forceFlush(), root: (name, f, input) => traceAgent(async (question) => f(question), { name })(input), tool: (name, f) => traceTool(async (args) => f(args), { name }) });
  },
  // AgentOps for JavaScript, which knows OpenAI's Agents of its own version (0.0.1) alone.
  async agentops() {
    const { agentops } = require("agentops");
    await agentops.init({ apiKey: "00000000-0000-0000-0000-000000000000", apiEndpoint: URL, otlpEndpoint: URL, serviceName: "agent" });
    return plain({ flush: () => pause(300) });
  },
  // Elastic's package for OpenAI up to 4, of its distribution for Node: content in log records.
  async elastic() {
    const { registerInstrumentations } = await import("@opentelemetry/instrumentation");
    const { OpenAIInstrumentation } = require("@elastic/opentelemetry-instrumentation-openai");
    const { LoggerProvider, BatchLogRecordProcessor } = await import("@opentelemetry/sdk-logs");
    const { OTLPLogExporter } = await import("@opentelemetry/exporter-logs-otlp-proto");
    const p = await provider([await simple()]);
    const loggerProvider = new LoggerProvider({ processors: [new BatchLogRecordProcessor(new OTLPLogExporter({ url: URL + "/v1/logs", concurrencyLimit: 10000 }))] });
    (await import("@opentelemetry/api-logs")).logs.setGlobalLoggerProvider(loggerProvider);
    registerInstrumentations({ instrumentations: [new OpenAIInstrumentation({ captureMessageContent: true })], tracerProvider: p, loggerProvider });
    const { trace } = await import("@opentelemetry/api");
    const spanned = (name, f) => trace.getTracer("agent").startActiveSpan(name, async (span) => { try { return await f(); } finally { span.end(); } });
    return plain({ flush: async () => { await pause(50); await Promise.all([p.forceFlush(), loggerProvider.forceFlush()]); }, root: spanned });
  },
  // The SDKs of Azure, whose clients write their spans through a package of theirs.
  async azure() {
    process.env.AZURE_TRACING_GEN_AI_CONTENT_RECORDING_ENABLED = "true";
    const { registerInstrumentations } = await import("@opentelemetry/instrumentation");
    const { createAzureSdkInstrumentation } = await import("@azure/opentelemetry-instrumentation-azure-sdk");
    const p = await provider([await simple()]);
    registerInstrumentations({ instrumentations: [createAzureSdkInstrumentation()], tracerProvider: p });
    const { trace } = await import("@opentelemetry/api");
    const spanned = (name, f) => trace.getTracer("agent").startActiveSpan(name, async (span) => { try { return await f(); } finally { span.end(); } });
    return plain({ flush: () => p.forceFlush(), root: spanned });
  },
});
