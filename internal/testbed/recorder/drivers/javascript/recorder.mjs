// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// The protocol of the recorder (see its doc.go) for drivers in JavaScript.
//
//   RECORDER=http://127.0.0.1:PORT node FRAMEWORK.mjs INSTRUMENTATION [VARIANT] [SCENARIO ...]
//
// STREAM in the environment: every run is streamed, not only those whose scenario says so. STRICT: the driver ends at the first run that leaves no spans. AROUND: what the application writes around the agent (around.mjs).
//
// A driver is a function `agent(task) -> text` handed to `main`. `task` is as the recorder gives it, but that its tools (and those of `task.sub`) have a
// function `run(args)`, which returns what the tool returns or throws what it throws. URL, INSTRUMENTATION and VARIANT are what the driver was started with.

export const URL = process.env.RECORDER ?? "http://127.0.0.1:4900";
export const [INSTRUMENTATION = "otel", VARIANT = "", ...SCENARIOS] = process.argv.slice(2);

export class ToolError extends Error {
  name = "ToolError";
}

process.on("unhandledRejection", () => {}); // helpers of SDKs for streams reject what nobody awaits as well

const request = globalThis.fetch; // before an instrumentation gets hold of it

export async function call(path, body) {
  const answer = await request(URL + path, { method: body === undefined ? "GET" : "POST", body: JSON.stringify(body), headers: { "Content-Type": "application/json" } });
  return answer.json();
}

function runnable(tool) {
  const run = async (args) => {
    const answer = await call("/tool/" + tool.name, args ?? {});
    if (answer.error !== undefined) throw new ToolError(answer.error);
    return answer.result;
  };
  return { ...tool, run };
}

// main runs the scenarios, one after another. flush sends what the instrumentation still holds. answerTool is given where the framework makes its model answer by calling a tool.
export async function main(agent, group, model, flush, answerTool) {
  for (const scenario of SCENARIOS.length ? SCENARIOS : await call("/scenarios")) {
    const task = await call("/begin", { group, scenario, model, answer_tool: answerTool });
    task.scenario = scenario;
    if (process.env.STREAM) task.stream = true;
    task.tools = (task.tools ?? []).map(runnable);
    if (task.sub) task.sub.tools = (task.sub.tools ?? []).map(runnable);
    let output = null, error = null;
    try {
      output = (await agent(task)) ?? null;
      if (output !== null && typeof output !== "string") output = JSON.stringify(output);
    } catch (e) { // the run failed: that is what is recorded
      error = `${e?.name ?? "Error"}: ${e?.message ?? e}`;
      if (process.env.VERBOSE) console.error(e);
    }
    await flush();
    const said = await call("/end", { output, error });
    console.error(scenario, said.spans, error === null ? "ok" : error.slice(0, 200));
    if (process.env.STRICT && !said.spans && !said.logs) process.exit(3);
  }
  process.exit(0);
}
