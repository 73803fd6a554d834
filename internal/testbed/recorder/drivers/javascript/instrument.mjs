// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// How the instrumentations are set up, as their documents show it. Each gives { flush, root, telemetry, callbacks, openai, wrap }: flush sends what is held; root(name, f)
// runs an agent as the document has its entry point run; telemetry are the settings for the AI SDK; callbacks those for LangChain; openai(client) wraps a client.

import { createRequire } from "node:module";
import { around } from "./around.mjs";
import { platforms } from "./platforms.mjs";
import { URL } from "./recorder.mjs";

const require = createRequire(import.meta.url);
const here = async (name, f) => f();
const plain = (more) => ({ flush: async () => {}, root: here, telemetry: { isEnabled: true }, callbacks: () => [], openai: (client) => client, anthropic: (client) => client, ...more });

async function provider(processors, service = "agent") {
  const { NodeTracerProvider } = await import("@opentelemetry/sdk-trace-node");
  const { resourceFromAttributes } = await import("@opentelemetry/resources");
  const made = new NodeTracerProvider({ resource: resourceFromAttributes({ "service.name": service }), spanProcessors: processors });
  made.register();
  return made;
}

async function exporter() {
  const { OTLPTraceExporter } = await import("@opentelemetry/exporter-trace-otlp-proto");
  return new OTLPTraceExporter({ url: URL + "/v1/traces", concurrencyLimit: 10000 }); // some instrumentations end all spans at once
}

async function simple() {
  const { SimpleSpanProcessor } = await import("@opentelemetry/sdk-trace-base");
  return new SimpleSpanProcessor(await exporter());
}

export const instrumentations = {
  // What the framework itself writes.
  async otel() {
    const p = await provider([await simple()]);
    return plain({ flush: () => p.forceFlush() });
  },
  async openinference({ libraries = {} }) {
    const { registerInstrumentations } = await import("@opentelemetry/instrumentation");
    const p = await provider([await simple()]);
    const known = { openai: "OpenAIInstrumentation", anthropic: "AnthropicInstrumentation", langchain: "LangChainInstrumentation", beeai: "BeeAIInstrumentation" };
    for (const [name, module] of Object.entries(libraries)) {
      if (!known[name]) continue;
      const loaded = await import("@arizeai/openinference-instrumentation-" + name);
      const made = new loaded[known[name]]();
      made.setTracerProvider?.(p);
      registerInstrumentations({ instrumentations: [made], tracerProvider: p });
      made.manuallyInstrument(module);
    }
    return plain({ flush: () => p.forceFlush() });
  },
  // OpenTelemetry's own package. It writes content into log records.
  async "otel-openai"() {
    process.env.OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT = "true";
    const { registerInstrumentations } = await import("@opentelemetry/instrumentation");
    const { OpenAIInstrumentation } = await import("@opentelemetry/instrumentation-openai");
    const { LoggerProvider, SimpleLogRecordProcessor } = await import("@opentelemetry/sdk-logs");
    const { OTLPLogExporter } = await import("@opentelemetry/exporter-logs-otlp-proto");
    const p = await provider([await simple()]);
    const loggerProvider = new LoggerProvider({ processors: [new SimpleLogRecordProcessor({ exporter: new OTLPLogExporter({ url: URL + "/v1/logs", concurrencyLimit: 10000 }) })] });
    (await import("@opentelemetry/api-logs")).logs.setGlobalLoggerProvider(loggerProvider);
    registerInstrumentations({ instrumentations: [new OpenAIInstrumentation({ captureMessageContent: true })], tracerProvider: p, loggerProvider });
    const { trace } = await import("@opentelemetry/api");
    const spanned = (name, f) => trace.getTracer("agent").startActiveSpan(name, async (span) => { try { return await f(); } finally { span.end(); } });
    return plain({ flush: () => Promise.all([p.forceFlush(), loggerProvider.forceFlush()]), root: spanned });
  },
  async "openinference-vercel"() {
    const { OpenInferenceSimpleSpanProcessor, isOpenInferenceSpan } = await import("@arizeai/openinference-vercel");
    const p = await provider([new OpenInferenceSimpleSpanProcessor({ exporter: await exporter(), spanFilter: isOpenInferenceSpan })]);
    return plain({ flush: () => p.forceFlush() });
  },
  // all: also spans of scopes that it does not know, which it leaves out otherwise.
  async langfuse({ bare = false, all = false }) {
    const { LangfuseSpanProcessor } = await import("@langfuse/otel");
    const p = await provider([new LangfuseSpanProcessor({ publicKey: "pk-lf-1", secretKey: "sk-lf-1", baseUrl: URL, exportMode: "immediate", ...(all ? { shouldExportSpan: () => true } : {}) })]);
    const { startActiveObservation } = await import("@langfuse/tracing");
    return plain({
      flush: () => p.forceFlush(),
      root: bare ? here : (name, f, input) => startActiveObservation(name, async (span) => {
        span.update({ input });
        const output = await f();
        span.update({ output });
        return output;
      }),
      callbacks: async () => [new (await import("@langfuse/langchain")).CallbackHandler()],
      openai: (client) => require("@langfuse/openai").observeOpenAI(client),
    });
  },
  async langsmith() {
    Object.assign(process.env, { LANGSMITH_TRACING: "true", LANGSMITH_OTEL_ENABLED: "true", LANGSMITH_API_KEY: "lsv2-1", LANGSMITH_ENDPOINT: URL, LANGSMITH_PROJECT: "agents" });
    const { initializeOTEL } = await import("langsmith/experimental/otel/setup");
    const { DEFAULT_LANGSMITH_SPAN_PROCESSOR: processor } = initializeOTEL({ exporterConfig: { url: URL + "/otel/v1/traces" } });
    const { Client } = await import("langsmith");
    const { traceable } = await import("langsmith/traceable");
    const client = new Client();
    return plain({
      flush: async () => {
        await client.awaitPendingTraceBatches();
        await new Promise((done) => setTimeout(done, 1000)); // LangChain has a client of its own
        await processor.forceFlush();
      },
      root: (name, f, input) => traceable(async () => f(), { name, client })(input),
      openai: (sdk) => require("langsmith/wrappers").wrapOpenAI(sdk, { client }),
      anthropic: (sdk) => require("langsmith/wrappers/anthropic").wrapAnthropic(sdk, { client }),
      wrapAISDK: (ai) => require("langsmith/experimental/vercel").wrapAISDK(ai, { client }),
    });
  },
  async traceloop({ libraries = {} }) {
    const traceloop = await import("@traceloop/node-server-sdk");
    const names = { openai: "openAI", anthropic: "anthropic", langchainCore: "langchain", llamaindex: "llamaIndex", genai: "google_genai", converse: "bedrock", cohere: "cohere", together: "together" };
    const instrumentModules = Object.fromEntries(Object.entries(libraries).filter(([name]) => names[name]).map(([name, module]) => [names[name], module.default && name === "openai" ? module.default : module]));
    if (libraries.mcpClient) instrumentModules.mcp = libraries.mcpClient;
    if (libraries.together) instrumentModules.together = libraries.together.Together;
    traceloop.initialize({ appName: "agent", apiKey: "tl-1", baseUrl: URL, disableBatch: true, silenceInitializationMessage: true, instrumentModules });
    return plain({ flush: () => traceloop.forceFlush(), root: (name, f, input) => traceloop.withWorkflow({ name, inputParameters: [input] }, f), tool: (name, f) => (args) => traceloop.withTool({ name, inputParameters: [args] }, f, args) });
  },
  // Its spans are those of line 1 of the OpenTelemetry SDK, which its exporter must be of too.
  async langtrace({ libraries = {} }) {
    const { OTLPTraceExporter } = require("@opentelemetry/exporter-trace-otlp-http");
    const { init, withLangTraceRootSpan } = require("@langtrase/typescript-sdk");
    const names = { converse: "awsbedrock", genai: "gemini" };
    const instrumentations = Object.fromEntries(Object.entries(libraries).map(([name, module]) => [names[name] ?? name, module]));
    init({ custom_remote_exporter: new OTLPTraceExporter({ url: URL + "/v1/traces", concurrencyLimit: 10000 }), batch: false, service_name: "agent", disable_latest_version_check: true, logging: { disable: true }, instrumentations });
    return plain({ flush: () => new Promise((done) => setTimeout(done, 200)), root: (name, f) => withLangTraceRootSpan(f, name) });
  },
  async laminar({ libraries = {}, settings }) {
    const { Laminar, observe, getTracer } = await import("@lmnr-ai/lmnr");
    const names = { openai: "openAI", anthropic: "anthropic", langchain: "langchain", genai: "google_genai" };
    const instrumentModules = Object.fromEntries(Object.entries(libraries).filter(([name]) => names[name]).map(([name, module]) => [names[name], module.default && name === "openai" ? module.default : module]));
    Laminar.initialize({ projectApiKey: "lm-1", baseUrl: "http://127.0.0.1", httpPort: Number(URL.split(":").pop()), forceHttp: true, disableBatch: true, instrumentModules, ...settings });
    return plain({
      flush: () => Laminar.flush(), root: (name, f, input) => observe({ name, input }, f), tool: (name, f) => (args) => observe({ name, spanType: "TOOL", input: args }, f, args),
      get telemetry() { return { isEnabled: true, tracer: getTracer() }; },
    });
  },
  async openlit() {
    const openlit = require("openlit").default;
    openlit.init({ otlpEndpoint: URL, applicationName: "agent", environment: "test", disableBatch: true, disableMetrics: true });
    return plain({ flush: () => new Promise((done) => setTimeout(done, 300)) });
  },
  async langwatch({ bare = true }) {
    const { setupObservability } = await import("langwatch/observability/node");
    const { getLangWatchTracer } = await import("langwatch");
    setupObservability({ serviceName: "agent", langwatch: { apiKey: "sk-lw-1", endpoint: URL, processorType: "simple" }, advanced: { disableAutoShutdown: true } });
    const tracer = getLangWatchTracer("agent");
    return plain({
      flush: () => new Promise((done) => setTimeout(done, 300)),
      root: bare ? here : (name, f, input) => tracer.withActiveSpan(name, async (span) => {
        span.setType("agent").setInput(input);
        const output = await f();
        span.setOutput(output);
        return output;
      }),
      callbacks: async () => [new (await import("langwatch/observability/instrumentation/langchain")).LangWatchCallbackHandler()],
    });
  },
  async sentry() {
    const Sentry = require("@sentry/node");
    const processor = await simple();
    Sentry.init({ dsn: "http://key@127.0.0.1:1/1", tracesSampleRate: 1, sendDefaultPii: true, streamGenAiSpans: false, openTelemetrySpanProcessors: [processor], integrations: [Sentry.vercelAIIntegration({ recordInputs: true, recordOutputs: true, force: true })] });
    return plain({ flush: () => processor.forceFlush(), root: (name, f) => Sentry.startSpan({ name, op: "function" }, f), openai: (client) => Sentry.instrumentOpenAiClient(client, { recordInputs: true, recordOutputs: true }), anthropic: (client) => Sentry.instrumentAnthropicAiClient(client, { recordInputs: true, recordOutputs: true }), callbacks: () => [Sentry.createLangChainCallbackHandler({ recordInputs: true, recordOutputs: true })], sentry: Sentry });
  },
  async braintrust() {
    const { BraintrustSpanProcessor } = await import("@braintrust/otel");
    const p = await provider([new BraintrustSpanProcessor({ apiKey: "sk-1", apiUrl: URL, parent: "project_name:agents", filterAISpans: true })]);
    return plain({ flush: () => p.forceFlush() });
  },
  // Agent 365: scopes that a program opens around its agent, its calls of a model and its tools.
  async a365() {
    const { ExecuteToolScope, InferenceScope, InvokeAgentScope } = require("@microsoft/agents-a365-observability");
    const p = await provider([await simple()]);
    const agent = { agentId: "a-1", agentName: "Office assistant", tenantId: "t-1" }, asked = { conversationId: "c-9", sessionId: "s-4" };
    const within = (scope, f) => scope.withActiveSpanAsync(async () => {
      try {
        return await f(scope);
      } catch (e) {
        scope.recordError(e);
        throw e;
      } finally {
        scope.dispose();
      }
    });
    const parsed = (v) => { try { return JSON.parse(v); } catch { return v; } };
    const parts = (m) => [
      ...(m.role !== "tool" && m.content ? [{ type: "text", content: m.content }] : []), ...(m.role === "tool" ? [{ type: "tool_call_response", id: m.tool_call_id, response: parsed(m.content) }] : []),
      ...(m.tool_calls ?? []).map((c) => ({ type: "tool_call", id: c.id, name: c.function.name, arguments: parsed(c.function.arguments) })),
    ];
    const message = (m) => ({ role: m.role, parts: parts(m) });
    // whole makes an answer of a stream, which is handed on when it is over.
    async function whole(answer) {
      if (answer.choices) return { answer };
      const given = [], said = { role: "assistant", content: "" };
      for await (const chunk of answer) {
        given.push(chunk);
        const delta = chunk.choices[0]?.delta ?? {};
        said.content += delta.content ?? "";
        for (const piece of delta.tool_calls ?? []) {
          const call = ((said.tool_calls ??= [])[piece.index] ??= { id: piece.id, function: { name: piece.function.name, arguments: "" } });
          call.function.arguments += piece.function.arguments ?? "";
        }
      }
      return { answer: { choices: [{ message: said, finish_reason: said.tool_calls ? "tool_call" : "stop" }], usage: given.at(-1)?.usage }, given };
    }
    return plain({
      flush: () => p.forceFlush(),
      root: (name, f, input) => within(InvokeAgentScope.start({ ...asked, content: input }, {}, agent), async (scope) => {
        const output = await f();
        scope.recordResponse(output ?? "");
        return output;
      }),
      tool: (name, f) => (args) => within(ExecuteToolScope.start(asked, { toolName: name, arguments: args, toolType: "function" }, agent), async (scope) => {
        const result = await f(args);
        scope.recordResponse(typeof result === "object" && result !== null && !Array.isArray(result) ? result : typeof result === "string" ? result : JSON.stringify(result));
        return result;
      }),
      openai: (client) => {
        const create = client.chat.completions.create.bind(client.chat.completions);
        client.chat.completions.create = (body) => within(InferenceScope.start(asked, { operationName: "Chat", model: body.model, providerName: "openai" }, agent), async (scope) => {
          scope.recordInputMessages({ version: "0.1.0", messages: body.messages.map(message) });
          const { answer, given = answer } = await whole(await create(body));
          scope.recordOutputMessages({ version: "0.1.0", messages: answer.choices.map((c) => ({ ...message(c.message), finish_reason: c.finish_reason })) });
          scope.recordInputTokens(answer.usage?.prompt_tokens ?? 0);
          scope.recordOutputTokens(answer.usage?.completion_tokens ?? 0);
          return given;
        });
        return client;
      },
    });
  },
  // Judgment: a function of the application is a span with its input and output.
  async judgeval() {
    const { Tracer } = require("judgeval");
    const processor = await simple(), fetch = globalThis.fetch;
    globalThis.fetch = async (url, init) => (String(url.url ?? url).includes("/projects/resolve") ? Response.json({ project_id: "p-1" }) : fetch(url, init)); // a project of its platform, whose own exporter would send each span a second time
    await Tracer.init({ projectName: "agents", apiKey: "jl-1", organizationId: "org-1", apiUrl: "http://127.0.0.1:1", spanProcessors: [processor] });
    return plain({
      flush: () => processor.forceFlush(), openai: (client) => Tracer.wrap(client),
      root: (name, f, input) => Tracer.observe(async (question) => f(question), { spanType: "agent", spanName: name })(input), tool: (name, f) => (args) => Tracer.observe((given) => f(given), { spanType: "tool", spanName: name })(args),
    });
  },
  // Its instrumentations are those of Traceloop and, for LangChain, of OpenInference.
  async latitude({ libraries = {} }) {
    const { Latitude, capture } = await import("@latitude-data/telemetry");
    const names = { openai: "openai", anthropic: "anthropic", converse: "bedrock", cohere: "cohere", together: "togetherai", llamaindex: "llamaindex", langchain: "langchain" };
    const instrumentations = Object.fromEntries(Object.entries(libraries).filter(([name]) => names[name]).map(([name, module]) => [names[name], module.default && name === "openai" ? module.default : module]));
    const latitude = new Latitude({ apiKey: "lat-1", project: "agents", instrumentations, disableBatch: true, exporter: await exporter() });
    await latitude.ready;
    return plain({ flush: () => latitude.flush(), root: (name, f) => capture(name, f, { userId: "u-17", sessionId: "s-4" }) });
  },
  async logfire() {
    const logfire = await import("@pydantic/logfire-node");
    const processor = await simple();
    logfire.configure({ sendToLogfire: false, serviceName: "agent", console: false, additionalSpanProcessors: [processor], nodeAutoInstrumentations: {} });
    return plain({
      flush: () => processor.forceFlush(),
      root: (name, f, input) => logfire.span("Answering {question}", { attributes: { question: input, agent: name }, callback: f }),
      tool: (name, f) => (args) => logfire.span(`running tool ${name}`, { attributes: { args }, callback: async (span) => { const result = await f(args); span.setAttribute?.("result", typeof result === "string" ? result : JSON.stringify(result)); return result; } }),
    });
  },
  // Spans of the semantic conventions with OpenInference's attributes beside their own.
  async "openinference-genai"() {
    const { convertGenAISpanAttributesToOpenInferenceSpanAttributes: convert } = await import("@arizeai/openinference-genai");
    const inner = await simple();
    const processor = { onStart: (span, parent) => inner.onStart(span, parent), onEnd: (span) => { Object.assign(span.attributes, convert(span.attributes)); inner.onEnd(span); }, forceFlush: () => inner.forceFlush(), shutdown: () => inner.shutdown() };
    const p = await provider([processor]);
    return plain({ flush: () => p.forceFlush() });
  },
  async posthog() {
    const { PostHogTraceExporter } = await import("@posthog/ai/otel");
    const { SimpleSpanProcessor } = await import("@opentelemetry/sdk-trace-base");
    const exporter = new PostHogTraceExporter({ projectToken: "phc_1", host: URL });
    if (process.env.VERBOSE) console.error(exporter);
    const p = await provider([new SimpleSpanProcessor(exporter)]);
    return plain({ flush: () => p.forceFlush() });
  },
  async axiom() {
    const { trace } = await import("@opentelemetry/api");
    const axiom = await import("axiom/ai");
    const p = await provider([await simple()]);
    axiom.initAxiomAI({ tracer: trace.getTracer("agent"), redactionPolicy: axiom.RedactionPolicy.AxiomDefault });
    return plain({ flush: () => p.forceFlush(), root: (name, f) => axiom.withSpan({ capability: "office", step: name }, f), model: axiom.wrapAISDKModel, tool: (name, f) => f, wrapTools: axiom.wrapTools });
  },
  async keywordsai({ libraries = {} }) {
    const { KeywordsAITelemetry } = await import("@keywordsai/tracing");
    const names = { openai: "openAI", anthropic: "anthropic" };
    const instrumentModules = Object.fromEntries(Object.entries(libraries).filter(([name]) => names[name]).map(([name, module]) => [names[name], module.default ?? module]));
    const kai = new KeywordsAITelemetry({ apiKey: "ka-1", baseURL: URL, appName: "agent", disableBatch: true, logLevel: "error", instrumentModules });
    await kai.initialize();
    return plain({ flush: () => kai.flush?.(), root: (name, f, input) => kai.withWorkflow({ name, inputParameters: [input] }, f), tool: (name, f) => (args) => kai.withTool({ name, inputParameters: [args] }, f, args) });
  },
};

export async function instrument(name, options = {}) {
  const setup = instrumentations[name] ?? platforms({ plain, provider, simple })[name];
  if (!setup) throw new Error("no instrumentation " + name);
  const made = await setup(options);
  made.tool ??= (name, f) => f;
  made.inner = (name, f) => f; // for frameworks, whose tools have spans of their own
  if (process.env.AROUND) {
    Object.assign(made, await around(process.env.AROUND));
    made.inner = made.tool;
  }
  return made;
}
