// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// LangChain.js and LangGraph.js, 0.3 and 1. VARIANT is PROVIDER[-LOOP]: openai, responses or anthropic; agent (createAgent, or createReactAgent before 1), graph (a graph by
// hand), functional (tasks of an entrypoint), deep (createDeepAgent), shaped (createAgent, which answers by a tool), supervisor, swarm or chain (a loop by hand over a model with tools).

import { INSTRUMENTATION, URL, VARIANT, main } from "./recorder.mjs";

const [api = "openai", loop = "agent"] = VARIANT.split("-");
if (INSTRUMENTATION === "langsmith") Object.assign(process.env, { LANGSMITH_TRACING: "true", LANGSMITH_OTEL_ENABLED: "true", LANGSMITH_API_KEY: "lsv2-1", LANGSMITH_ENDPOINT: URL, LANGCHAIN_CALLBACKS_BACKGROUND: "false" });
const { instrument } = await import("./instrument.mjs");
const { createRequire } = await import("node:module");
const require = createRequire(import.meta.url); // the packages are loaded as CommonJS, which all of the instrumentations reach
const libraries = INSTRUMENTATION === "openlit" ? {} : { langchain: require("@langchain/core/callbacks/manager"), langchainCore: require("@langchain/core/callbacks/manager") };
if (INSTRUMENTATION === "traceloop") {
  libraries.langchain = libraries.langchainCore = { callbackManagerModule: libraries.langchain };
}
const on = await instrument(INSTRUMENTATION, { libraries, bare: true });

const { tool } = require("@langchain/core/tools");
const { AIMessage, HumanMessage, SystemMessage, ToolMessage } = require("@langchain/core/messages");
const callbacks = async () => ({ callbacks: await on.callbacks() });

function chat(name) {
  if (api === "anthropic") return new (require("@langchain/anthropic").ChatAnthropic)({ model: name, apiKey: "key", anthropicApiUrl: URL, maxRetries: 0 });
  return new (require("@langchain/openai").ChatOpenAI)({ model: name, apiKey: "sk-test", configuration: { baseURL: URL + "/v1" }, maxRetries: 0, useResponsesApi: api === "responses" });
}

function toolset(task) {
  const made = (task.tools ?? []).map((t) => tool(on.inner(t.name, (args) => t.run(args).then((r) => (typeof r === "string" ? r : JSON.stringify(r)))), { name: t.name, description: t.description, schema: t.parameters }));
  if (task.sub) made.push(tool(({ question }) => ask({ ...task.sub, user: question, history: [], model: task.model }), { name: task.sub.name, description: task.sub.description, schema: task.sub.parameters }));
  return made;
}

const said = (message) => message.text ?? message.content;
const turns = (task) => [...task.history.map((m) => (m.role === "user" ? new HumanMessage(m.content) : new AIMessage(m.content))), new HumanMessage(task.user)];

async function agent(task) {
  const model = chat(task.model), tools = toolset(task), config = { ...(await callbacks()), recursionLimit: task.max_steps ? 2 * task.max_steps : 50 };
  let made;
  try {
    const { createAgent } = require("langchain");
    made = createAgent({ model, tools, systemPrompt: task.system, name: task.name });
  } catch {
    const { createReactAgent } = require("@langchain/langgraph/prebuilt");
    made = createReactAgent({ llm: model, tools, prompt: task.system });
  }
  return finish(task, made, { messages: turns(task) }, config);
}

async function finish(task, made, input, config) {
  if (!task.stream) return said((await made.invoke(input, config)).messages.at(-1));
  let last = null;
  for await (const state of await made.stream(input, { ...config, streamMode: "values" })) last = state.messages.at(-1);
  return said(last);
}

async function graph(task) {
  const { END, MessagesAnnotation, START, StateGraph } = require("@langchain/langgraph");
  const { ToolNode } = require("@langchain/langgraph/prebuilt");
  const tools = toolset(task), model = chat(task.model).bindTools(tools);
  const made = new StateGraph(MessagesAnnotation)
    .addNode("agent", async ({ messages }, config) => ({ messages: [await model.invoke([new SystemMessage(task.system), ...messages], config)] }))
    .addNode("tools", new ToolNode(tools))
    .addEdge(START, "agent").addEdge("tools", "agent")
    .addConditionalEdges("agent", ({ messages }) => (messages.at(-1).tool_calls?.length ? "tools" : END))
    .compile();
  return finish(task, made, { messages: turns(task) }, { ...(await callbacks()), recursionLimit: task.max_steps ? 2 * task.max_steps : 50 });
}

async function chain(task) {
  const tools = toolset(task), model = chat(task.model).bindTools(tools), config = await callbacks();
  const messages = [new SystemMessage(task.system), ...turns(task)];
  for (let step = 0; step < (task.max_steps || 10); step++) {
    let answer = null;
    if (task.stream) for await (const chunk of await model.stream(messages, config)) answer = answer ? answer.concat(chunk) : chunk;
    else answer = await model.invoke(messages, config);
    messages.push(answer);
    if (!answer.tool_calls?.length) return said(answer);
    messages.push(...(await Promise.all(answer.tool_calls.map(async (c) => {
      const t = tools.find((t) => t.name === c.name);
      try {
        return t ? await t.invoke({ ...c, type: "tool_call" }, config) : new ToolMessage({ content: "no such tool", tool_call_id: c.id, status: "error" });
      } catch (e) {
        return new ToolMessage({ content: `Error: ${e.message}`, tool_call_id: c.id, status: "error" });
      }
    }))));
  }
  return null;
}

async function functional(asked) {
  const { addMessages, entrypoint, task } = require("@langchain/langgraph");
  const tools = toolset(asked), model = chat(asked.model).bindTools(tools);
  const callModel = task("call_model", (messages) => model.invoke([new SystemMessage(asked.system), ...messages]));
  const callTool = task("call_tool", async (call) => {
    try {
      return await tools.find((t) => t.name === call.name).invoke({ ...call, type: "tool_call" });
    } catch (e) {
      return new ToolMessage({ content: `Error: ${e.message}`, tool_call_id: call.id, status: "error" });
    }
  });
  const made = entrypoint("assistant", async (given) => {
    let messages = given;
    for (let step = 0; step < (asked.max_steps || 10); step++) {
      const answer = await callModel(messages);
      messages = addMessages(messages, [answer]);
      if (!answer.tool_calls?.length) return { messages };
      messages = addMessages(messages, await Promise.all(answer.tool_calls.map((c) => callTool(c))));
    }
    throw new Error("no answer within the limit");
  });
  return finish(asked, made, turns(asked), await callbacks());
}

async function deep(task) {
  const { createDeepAgent } = require("deepagents");
  const made = createDeepAgent({ model: chat(task.model), tools: toolset(task), systemPrompt: task.system, name: task.name });
  return finish(task, made, { messages: turns(task) }, { ...(await callbacks()), recursionLimit: task.max_steps ? 5 + 3 * task.max_steps : 60 }); // its middlewares are steps too, before the first call already
}

async function shaped(task) {
  const { createAgent, toolStrategy, toolRetryMiddleware, modelCallLimitMiddleware } = require("langchain");
  const schema = { title: "final_answer", description: "The answer.", type: "object", properties: { response: { type: "string" } }, required: ["response"] };
  const made = createAgent({ model: chat(task.model), tools: toolset(task), systemPrompt: task.system, name: task.name, responseFormat: toolStrategy(schema), middleware: [modelCallLimitMiddleware({ runLimit: 20 }), toolRetryMiddleware({ maxRetries: 0 })] });
  const state = await made.invoke({ messages: turns(task) }, { ...(await callbacks()), recursionLimit: task.max_steps ? 2 * task.max_steps : 60 });
  return state.structuredResponse?.response ?? said(state.messages.at(-1));
}

// An agent in a graph of several, which is alone in it: its graph stands in another, under a supervisor (which has the tools) or in a swarm.
async function supervisor(task) {
  const { createSupervisor } = require("@langchain/langgraph-supervisor");
  const made = createSupervisor({ agents: [], llm: chat(task.model), tools: toolset(task), prompt: task.system, supervisorName: task.name ?? "assistant" }).compile();
  return finish(task, made, { messages: turns(task) }, { ...(await callbacks()), recursionLimit: task.max_steps ? 2 * task.max_steps : 50 });
}

async function swarm(task) {
  const { createSwarm } = require("@langchain/langgraph-swarm");
  const { createReactAgent } = require("@langchain/langgraph/prebuilt");
  const name = task.name ?? "assistant";
  const member = createReactAgent({ llm: chat(task.model), tools: toolset(task), prompt: task.system, name });
  const made = createSwarm({ agents: [member], defaultActiveAgent: name }).compile();
  return finish(task, made, { messages: turns(task) }, { ...(await callbacks()), recursionLimit: task.max_steps ? 2 * task.max_steps : 50 });
}

const ask = { agent, graph, chain, functional, deep, shaped, supervisor, swarm }[loop];
const { root } = on; // LangSmith exports no run of LangChain outside of a span
await main((task) => root("chat", () => ask(task), task.user), process.env.GROUP ?? `langchainjs-${INSTRUMENTATION}-${VARIANT}`, api === "anthropic" ? "claude-sonnet-4-5" : "gpt-4o-mini", on.flush, loop === "shaped" ? { name: "final_answer", argument: "response" } : undefined);
