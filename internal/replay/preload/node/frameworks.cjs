// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0
"use strict";

// Answers the tool calls of agent frameworks from an oracle instead of running the tools.
//
// Each framework has one place through which every call of a function tool goes. There the function is replaced, after the framework has
// checked the arguments and started its own span. A recorded answer is returned, a recorded error is thrown, with its name and message, so that
// the framework and the agent make of it what they made when the run was recorded, and a miss is thrown. When the oracle cannot be asked the process ends with status 70: a replay without its oracle would run tools. A framework of a version that is not
// known ends it with status 78, unless TAPEDECK_PRELOAD_ALLOW names it.
//
// The environment is that of the hooks for Python.
const fs = require("node:fs");
const http = require("node:http");
const https = require("node:https");

// Kept before an instrumentation of http replaces them: what the oracle is asked is no request of the agent.
const request = { "http:": http.request, "https:": https.request };
const env = { ...process.env };
const list = (name) => new Set((env[name] || "").split(",").map((s) => s.trim()).filter(Boolean));
const allowLive = list("TAPEDECK_ALLOW_LIVE");
const allow = list("TAPEDECK_PRELOAD_ALLOW");

function end(status, text) {
  fs.writeSync(2, `tapedeck: ${text}\n`);
  process.exit(status);
}

function note(what) {
  if (env.TAPEDECK_PRELOAD_REPORT) fs.appendFileSync(env.TAPEDECK_PRELOAD_REPORT, JSON.stringify({ pid: process.pid, ...what }) + "\n");
}

class OracleMiss extends Error {}
OracleMiss.prototype.name = "OracleMiss";

/** The tool failed when the run was recorded, with an error that is not known; the text is what the model was shown. */
class RecordedToolError extends Error {}
RecordedToolError.prototype.name = "RecordedToolError";

const shown = Symbol("what the model was shown of a recorded error whose class cannot be made again");

/** The error to throw: of the recorded class where the language has it, else of its name. */
function recorded({ error_type: type, error_message: message, response }) {
  if (message === undefined) return Object.assign(new RecordedToolError(response), { [shown]: response });
  const name = type?.slice(type.lastIndexOf(".") + 1);
  const own = name && Object.hasOwn(globalThis, name) ? globalThis[name] : undefined;
  if (typeof own === "function" && (own === Error || own.prototype instanceof Error) && own !== AggregateError) return new own(message);
  return Object.assign(new Error(message), { [shown]: response, ...(name ? { name } : {}) });
}

// The framework, from version (major, minor) on, before version. The versions are those whose sources were read and that are tested, up to
// the next one that may break its interface.
const versions = {
  ai: [[4, 3], [8, 0]],
  "@langchain/core": [[1, 0], [2, 0]],
  "@openai/agents-core": [[0, 20], [0, 21]],
  "@mastra/core": [[0, 24], [0, 25]],
};

const before = (a, b) => a[0] < b[0] || (a[0] === b[0] && a[1] < b[1]);
const seen = new Set();

/** Says whether the tools of a module that was loaded are to be hooked. */
function loaded(name, version, found) {
  const numbers = (version.match(/\d+/g) || []).slice(0, 2).map(Number);
  const [first, beyond] = versions[name];
  let problem;
  if (numbers.length < 2 || before(numbers, first) || !before(numbers, beyond)) problem = `known from ${first.join(".")} to before ${beyond.join(".")}`;
  else if (!found) problem = "its tools are not called as expected";
  if (!seen.has(name + version)) note({ framework: name, version, hooked: !problem, ...(problem ? { problem } : {}) });
  seen.add(name + version);
  if (problem && !allow.has(name) && !allow.has("*")) {
    end(78, `the tools of ${name} ${version || "of an unknown version"} cannot be answered from the tape (${problem}); --allow-framework ${name} of tapedeck replay lets them run, outside of it TAPEDECK_PRELOAD_ALLOW=${name}`);
  }
  return !problem;
}

function post(body) {
  const url = new URL(env.TAPEDECK_ORACLE_URL);
  const run = env.TAPEDECK_ORACLE_RUN ? `runs/${encodeURIComponent(env.TAPEDECK_ORACLE_RUN)}/` : "";
  const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(body) };
  if (env.TAPEDECK_ORACLE_TOKEN) headers.authorization = "Bearer " + env.TAPEDECK_ORACLE_TOKEN;
  return new Promise((resolve, reject) => {
    const asked = request[url.protocol](
      { protocol: url.protocol, hostname: url.hostname.replace(/^\[|\]$/g, ""), port: url.port, path: url.pathname.replace(/\/+$/, "") + `/v1/${run}tool-calls`, method: "POST", headers, agent: false },
      (response) => {
        const parts = [];
        response.on("data", (part) => parts.push(part));
        response.on("end", () => resolve([response.statusCode, Buffer.concat(parts).toString("utf8")]));
        response.on("error", reject);
      },
    );
    asked.on("error", reject);
    asked.end(body);
  });
}

/** Asks the oracle, or runs the tool where that is to run. args is an object, or the text that the model wrote. */
function ask(tool, args, callId, run) {
  return live(tool) ? run() : asked(tool, args, callId, run);
}

async function asked(tool, args, callId, run) {
  const body = { replay_run_id: env.TAPEDECK_REPLAY_RUN_ID || "", tool_name: tool };
  let status, text, answer;
  try {
    body.args_raw = typeof args === "string" ? args : JSON.stringify(args ?? {});
    if (callId) body.tool_call_id = callId;
    [status, text] = await post(JSON.stringify(body));
    if (status === 200) answer = JSON.parse(text);
  } catch (err) {
    end(70, `the oracle cannot be asked for ${tool}: ${err.message}`);
  }
  if (!answer) end(70, `the oracle answered ${status} for ${tool}: ${text.slice(0, 500)}`);
  if (answer.outcome === "live") {
    note({ live: tool });
    return run();
  }
  if (!answer.hit) throw new OracleMiss(`no recorded answer for this call of ${tool}: ${answer.reason}`);
  if (answer.is_error) throw recorded(answer);
  return answer.response_format === "json" ? JSON.parse(answer.response) : answer.response;
}

/** Whether a tool is to run; said each time. */
function live(tool) {
  if (!allowLive.has(tool) && !allowLive.has("*")) return false;
  note({ live: tool });
  return true;
}

/** An object like o in which one member is another. */
const like = (o, name, value) => Object.create(o, { [name]: { value, enumerable: true, writable: true, configurable: true } });

const asks = Symbol("the tool asks the oracle"); // one hooked function calls another

function vercel(m) {
  const asking = (tools) =>
    Object.fromEntries(
      Object.entries(tools ?? {}).map(([name, tool]) => {
        if (typeof tool?.execute !== "function" || asks in tool) return [name, tool];
        const execute = (input, options) => ask(name, input, options?.toolCallId, () => tool.execute(input, options));
        return [name, like(like(tool, "execute", execute), asks, true)];
      }),
    );
  for (const name of Object.keys(m)) {
    const call = m[name];
    m[name] = (options) => call(options?.tools ? { ...options, tools: asking(options.tools) } : options);
  }
}

function langchain(m) {
  const proto = m.StructuredTool.prototype;
  const call = proto.call;
  proto.call = function (arg, config, tags) {
    const whole = arg && typeof arg === "object" && arg.type === "tool_call" ? arg : undefined;
    const id = whole?.id ?? config?.toolCall?.id;
    if (live(this.name)) return call.call(this, arg, config, tags);
    const paired = this.responseFormat === "content_and_artifact";
    const answer = async (...given) => {
      let ran = false;
      const run = () => ((ran = true), this._call(...given));
      let content;
      try {
        content = await asked(this.name, whole ? whole.args : arg, id, run);
      } catch (err) {
        if (!(err instanceof RecordedToolError) || !id) throw err;
        content = new m.ToolMessage({ content: err[shown], tool_call_id: id, name: this.name, status: "error" });
      }
      return paired && !ran ? [content, undefined] : content;
    };
    return call.call(like(this, "_call", answer), arg, config, tags);
  };
}

function openaiAgents(m, exported) {
  const make = m.tool;
  m.tool = function (options) {
    const told = new Map(); // id of a call → what the model was shown of its failure
    const made = make({
      ...options,
      name: options.name ?? options.execute.name,
      execute: async (input, context, details) => {
        const call = details?.toolCall;
        try {
          return await ask(made.name, call?.arguments || input, call?.callId, () => options.execute(input, context, details));
        } catch (err) {
          if (err[shown] !== undefined) told.set(call?.callId, err[shown]);
          throw err;
        }
      },
      ...(typeof options.errorFunction === "function" && {
        errorFunction: (context, err, details) => told.get(details?.toolCall?.callId) ?? options.errorFunction(context, err, details),
      }),
    });
    return made;
  };
  if (exported?.tool) exported.tool = m.tool;
}

function mastra(m) {
  const proto = m.CoreToolBuilder.prototype;
  const create = proto.createExecute;
  proto.createExecute = function (tool, options, ...rest) {
    const name = options.name;
    // An agent or a workflow behind a tool runs: its own calls are on the tape. Mastra names it so, and says of every other tool whether it has to be
    // approved; a tool may have such a name too.
    const runs = /^(agent|workflow)-/.test(name) && !("requireApproval" in options);
    if (typeof tool?.execute !== "function" || runs) return create.call(this, tool, options, ...rest);
    const vercelTool = !("id" in tool && "execute" in tool && tool.constructor?.name === "Tool");
    const instead = like(tool, "execute", (first, second) => {
      const args = !vercelTool && first && typeof first === "object" && "context" in first ? first.context : first;
      return ask(name, args, second?.toolCallId, () => tool.execute(first, second));
    });
    return create.call(this, instead, options, ...rest);
  };
}

function install() {
  globalThis[Symbol.for("tapedeck.preload")] ??= { loaded, vercel, langchain, openaiAgents, mastra };
}

module.exports = { install };
