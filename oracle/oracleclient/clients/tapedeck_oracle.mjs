// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Recorded answers for the tool calls of a replay. One file without dependencies, for Node.js from 18 on: copy it beside your agent.
//
//   const oracle = fromEnv();                     // null outside of a replay
//   const getStock = async (args) => oracle ? oracle.call("get_stock", args) : …;
//
// The protocol is docs/oracle.md.

/** There is no recorded answer. The tool must not be run instead, unless live is true. */
export class Miss extends Error {
  constructor(tool, outcome, reason) {
    super(`no recorded answer for ${tool}: ${reason}`);
    Object.assign(this, { name: "Miss", tool, outcome, reason, live: outcome === "live" });
  }
}

/** The recorded call had failed with this text. shown is what the model was shown of it. */
export class RecordedError extends Error {
  name = "RecordedError";
}

/** The oracle could not do its work: the replay has to end, and nothing is to be counted as a miss. */
export class Broken extends Error {
  name = "Broken";
}

export class Oracle {
  #calls = 0;
  #endpoint;

  /** url is the address of the oracle, with ?run=ID where it serves several runs and run names none. */
  constructor({ url, replayRunId, run, token }) {
    Object.assign(this, { url, replayRunId, run, token });
    this.#endpoint = url.replace(/\/*(\?|$)/, "/v1/tool-calls$1");
  }

  /** Resolves to the recorded response as text. args is a value, or the text as the model wrote it. */
  async call(tool, args, { toolCallId, caller, signal } = {}) {
    const body = { replay_run_id: this.replayRunId, tool_name: tool, run: this.run, caller, args_raw: typeof args === "string" ? args : JSON.stringify(args) };
    if (toolCallId) body.tool_call_id = toolCallId;
    else body.call_index = ++this.#calls; // a request that is sent again is the same call
    const headers = { "Content-Type": "application/json" };
    if (this.token) headers.Authorization = `Bearer ${this.token}`;
    let answer;
    try {
      const response = await fetch(this.#endpoint, { method: "POST", headers, body: JSON.stringify(body), signal });
      const text = await response.text();
      if (!response.ok) throw new Error(`${response.status}: ${text}`);
      answer = JSON.parse(text);
    } catch (cause) {
      throw new Broken(String(cause?.cause?.message ?? cause?.message ?? cause), { cause });
    }
    if (!answer.hit) throw new Miss(tool, answer.outcome, answer.reason);
    if (answer.is_error) throw Object.assign(new RecordedError(answer.error_message || answer.response), { shown: answer.response });
    return answer.response;
  }
}

/** The oracle of the replay in which this process runs, or null. */
export function fromEnv() {
  const url = process.env.TAPEDECK_ORACLE_URL;
  if (!url) return null;
  return new Oracle({ url, replayRunId: process.env.TAPEDECK_REPLAY_RUN_ID ?? "", token: process.env.TAPEDECK_ORACLE_TOKEN });
}
