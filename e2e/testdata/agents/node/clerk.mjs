// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// The clerk of ../common.py with the agent frameworks of JavaScript: FRAMEWORK MODULES, where MODULES is esm or cjs. The packages are those of the
// folder that NODE_AGENTS names. Two turns of one conversation, or those of further arguments; what the tool saw and what was answered is
// printed. Where OTEL_EXPORTER_OTLP_ENDPOINT says where spans go, each framework is instrumented as its documentation says.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [framework, modules, ...asked] = process.argv.slice(2);
const require = createRequire(process.env.NODE_AGENTS + "/package.json");
const load = async (name) => (modules === "cjs" ? require(name) : import(name));

const MODEL = "gpt-4o-mini";
const SYSTEM = "You are the stock clerk. Look things up before you answer.";
const QUESTIONS = asked.length ? asked : ["How many of SKU-7 and SKU-8 are in stock?", "And of SKU-9?"];
const baseURL = process.env.OPENAI_BASE_URL || process.env.MODEL_URL + "/v1";
const STOCK = { "SKU-5": 15, "SKU-6": 16, "SKU-7": Number(process.env.SKU_7 ?? 42), "SKU-8": 0 };
const endpoint = process.env.OTEL_SDK_DISABLED ? "" : process.env.OTEL_EXPORTER_OTLP_ENDPOINT;

let provider;
if (endpoint && framework !== "mastra") {
  const { NodeTracerProvider, SimpleSpanProcessor } = await load("@opentelemetry/sdk-trace-node");
  const { OTLPTraceExporter } = await load("@opentelemetry/exporter-trace-otlp-proto");
  provider = new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(new OTLPTraceExporter())] });
  provider.register();
}
const calls = [];

class Unavailable extends Error {
  constructor(sku, milliseconds) {
    super(`no answer about ${sku} within ${milliseconds} ms`);
    this.name = "Unavailable";
  }
}
const failsOnce = { "SKU-5": (sku) => new Unavailable(sku, 2000), "SKU-6": (sku) => new Error(`no answer about ${sku}\nwithin 2000 ms`) };

async function getStock({ sku }) {
  const call = { name: "get_stock", args: { sku }, result: null, error: null };
  calls.push(call);
  if (process.env.STOCK_URL) await fetch(process.env.STOCK_URL, { signal: AbortSignal.timeout(500) });
  if (sku in failsOnce) {
    const error = failsOnce[sku](sku);
    delete failsOnce[sku];
    call.error = error.message;
    throw error;
  }
  if (!(sku in STOCK)) {
    call.error = "no article " + sku;
    throw new Error(call.error);
  }
  call.result = JSON.stringify({ sku, pieces: STOCK[sku] });
  return call.result;
}

const description = "Tell how many pieces of an article are in stock.";

const frameworks = {
  async vercel() {
    const { generateText, tool, stepCountIs, registerTelemetry } = await load("ai");
    if (provider && registerTelemetry) {
      const { OpenTelemetry } = await load("@ai-sdk/otel");
      registerTelemetry(new OpenTelemetry());
    }
    const telemetry = provider && !registerTelemetry ? { experimental_telemetry: { isEnabled: true } } : {};
    const { createOpenAI } = await load("@ai-sdk/openai");
    const { z } = await load("zod");
    const model = createOpenAI({ apiKey: "none", baseURL }).chat(MODEL);
    // AI SDK 4 knows parameters and maxSteps, later ones inputSchema and stopWhen
    const schema = z.object({ sku: z.string() });
    const tools = { get_stock: tool({ description, inputSchema: schema, parameters: schema, execute: getStock }) };
    const messages = [];
    return async (question) => {
      messages.push({ role: "user", content: question });
      const result = await generateText({ model, system: SYSTEM, messages, tools, stopWhen: stepCountIs?.(5), maxSteps: 5, maxRetries: 0, ...telemetry });
      messages.push(...(result.responseMessages ?? result.response.messages));
      return result.text;
    };
  },
  async langchain() {
    if (provider) {
      const { LangChainInstrumentation } = await load("@arizeai/openinference-instrumentation-langchain");
      new LangChainInstrumentation({ tracerProvider: provider }).manuallyInstrument(await load("@langchain/core/callbacks/manager"));
    }
    const { createAgent, tool } = await load("langchain");
    const { ChatOpenAI } = await load("@langchain/openai");
    const { z } = await load("zod");
    const stock = tool(getStock, { name: "get_stock", description, schema: z.object({ sku: z.string() }) });
    const model = new ChatOpenAI({ model: MODEL, apiKey: "none", maxRetries: 0, configuration: { baseURL } });
    const agent = createAgent({ model, tools: [stock], systemPrompt: SYSTEM });
    let messages = [];
    return async (question) => {
      ({ messages } = await agent.invoke({ messages: [...messages, { role: "user", content: question }] }));
      return messages.at(-1).content;
    };
  },
  async "openai-agents"() {
    const agents = await load("@openai/agents");
    const { Agent, run, tool, user, OpenAIChatCompletionsModel, setTracingDisabled } = agents;
    const { default: OpenAI } = await load("openai");
    const { z } = await load("zod");
    setTracingDisabled(!provider);
    if (provider) {
      const { OpenAIAgentsInstrumentation } = await load("@arizeai/openinference-instrumentation-openai-agents");
      new OpenAIAgentsInstrumentation({ tracerProvider: provider }).manuallyInstrument(agents);
    }
    const stock = tool({ name: "get_stock", description, parameters: z.object({ sku: z.string() }), execute: getStock });
    const model = new OpenAIChatCompletionsModel(new (OpenAI.default ?? OpenAI)({ apiKey: "none", baseURL, maxRetries: 0 }), MODEL);
    const agent = new Agent({ name: "clerk", instructions: SYSTEM, model, tools: [stock] });
    let history = [];
    return async (question) => {
      const result = await run(agent, [...history, user(question)]);
      history = result.history;
      return result.finalOutput;
    };
  },
  async mastra() {
    const { Agent } = await load("@mastra/core/agent");
    const { createTool } = await load("@mastra/core/tools");
    const { createOpenAI } = await load("openai-v2");
    const { z } = await load("zod");
    const stock = createTool({ id: "stock", description, inputSchema: z.object({ sku: z.string() }), execute: async ({ context }) => getStock(context) });
    let agent = new Agent({ name: "clerk", instructions: SYSTEM, model: createOpenAI({ apiKey: "none", baseURL }).chat(MODEL), tools: { get_stock: stock } });
    if (endpoint) {
      const { Mastra } = await load("@mastra/core");
      const { OtelExporter } = await load("@mastra/otel-exporter");
      const { OTLPTraceExporter } = await load("@opentelemetry/exporter-trace-otlp-proto");
      // Given to it, for what it loads itself comes after the spans of a short run.
      const exporter = new OtelExporter({ provider: { custom: { endpoint: endpoint + "/v1/traces" } }, exporter: new OTLPTraceExporter() });
      const mastra = new Mastra({ agents: { clerk: agent }, observability: { configs: { otel: { serviceName: "mastra", exporters: [exporter] } } } });
      provider = mastra;
      agent = mastra.getAgent("clerk");
    }
    const messages = [];
    return async (question) => {
      messages.push({ role: "user", content: question });
      const result = await agent.generate(messages, { maxSteps: 5 });
      messages.push({ role: "assistant", content: result.text });
      return result.text;
    };
  },
};

const ask = await frameworks[framework]();
const answers = [];
try {
  for (const question of QUESTIONS) answers.push(await ask(question));
} finally {
  await provider?.shutdown();
}
process.stdout.write(JSON.stringify({ calls, answers }));
process.exit(0);
