// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0
"use strict";

// Which modules are hooked, and what is appended to their source. An appended line sees the names of its module, so it can replace a function
// that is called inside it; an export of an ES module follows the replacement, one of CommonJS is set again.
const fs = require("node:fs");
const path = require("node:path");
const { fileURLToPath } = require("node:url");

const hook = (name, bindings, imported = "") =>
  `globalThis[Symbol.for("tapedeck.preload")].${name}({${bindings.map((b) => `get ${b}() { return ${b}; }, set ${b}(v) { ${b} = v; }, `).join("")}${imported}}` +
  `, typeof exports === "object" ? exports : undefined);`;

// distribution: [file within it, declarations of which its source holds at least one, function of frameworks.cjs, what else it is given: a name that is
// imported, and stands in an object where the module is one of CommonJS]
const modules = {
  ai: [/^dist\/index\.(js|mjs|cjs)$/, /\bfunction (executeToolCall|executeTools|runToolsTransformation)\(/g, "vercel"],
  "@langchain/core": [
    /^dist\/tools\/index\.(js|mjs|cjs)$/, /\bvar (StructuredTool) = class\b/g, "langchain",
    'get ToolMessage() { return typeof ToolMessage === "function" ? ToolMessage : require_messages_tool.ToolMessage; }',
  ],
  "@openai/agents-core": [/^dist\/tool\.(js|mjs|cjs)$/, /\bfunction (tool)\(/g, "openaiAgents"],
  "@mastra/core": [/^dist\/chunk-[^/]*\.(js|mjs|cjs)$/, /\bvar (CoreToolBuilder) = class\b/g, "mastra"],
};

// Chunks are many, and the one with the tools has no name of its own; where a file has a name, it must hold what is hooked.
const always = (name) => name !== "@mastra/core";

/** What is appended to a module, given by its path or URL: "" for all but a few. */
function append(location) {
  if (!location.includes("node_modules")) return "";
  let file = location;
  if (location.startsWith("file:")) file = fileURLToPath(location.replace(/[?#].*$/, ""));
  file = file.split(path.sep).join("/");
  const at = file.lastIndexOf("/node_modules/");
  if (at < 0) return "";
  const parts = file.slice(at + "/node_modules/".length).split("/");
  const name = parts[0].startsWith("@") ? parts.slice(0, 2).join("/") : parts[0];
  const known = Object.hasOwn(modules, name) && modules[name];
  if (!known || !known[0].test(parts.slice(name.split("/").length).join("/"))) return "";
  const root = file.slice(0, at) + "/node_modules/" + name;
  const found = [...new Set([...fs.readFileSync(file, "utf8").matchAll(known[1])].map((m) => m[1]))];
  if (found.length === 0 && !always(name)) return "";
  let version = "";
  try {
    version = JSON.parse(fs.readFileSync(root + "/package.json", "utf8")).version;
  } catch {
    // an unknown version
  }
  const said = JSON.stringify([name, String(version), found.length > 0]).slice(1, -1);
  return `\n;if (globalThis[Symbol.for("tapedeck.preload")].loaded(${said})) {${hook(known[2], found, known[3])}}\n`;
}

module.exports = { append };
