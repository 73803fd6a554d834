// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// The tools of a task behind an MCP server of the same process: served(tools) gives them back as those that a client of the server calls. libraries are what an
// instrumentation of MCP patches.

import { createRequire } from "node:module";

const require = createRequire(import.meta.url);
export const libraries = {
  mcpClient: require("@modelcontextprotocol/sdk/client/index.js"), mcpServer: require("@modelcontextprotocol/sdk/server/index.js"),
};

export async function served(tools) {
  const { Client } = libraries.mcpClient, { Server } = libraries.mcpServer;
  const { InMemoryTransport } = require("@modelcontextprotocol/sdk/inMemory.js");
  const { CallToolRequestSchema, ListToolsRequestSchema } = require("@modelcontextprotocol/sdk/types.js");
  const server = new Server({ name: "office", version: "1.0.0" }, { capabilities: { tools: {} } });
  server.setRequestHandler(ListToolsRequestSchema, async () => ({ tools: tools.map((t) => ({ name: t.name, description: t.description, inputSchema: t.parameters })) }));
  server.setRequestHandler(CallToolRequestSchema, async ({ params }) => {
    try {
      const result = await tools.find((t) => t.name === params.name).run(params.arguments);
      return { content: [{ type: "text", text: typeof result === "string" ? result : JSON.stringify(result) }] };
    } catch (e) {
      return { content: [{ type: "text", text: e.message }], isError: true };
    }
  });
  const client = new Client({ name: "assistant", version: "1.0.0" });
  const [here, there] = InMemoryTransport.createLinkedPair();
  await server.connect(there);
  await client.connect(here);
  const listed = await client.listTools();
  return listed.tools.map((t) => ({
    name: t.name, description: t.description, parameters: t.inputSchema,
    run: async (args) => {
      const { content, isError } = await client.callTool({ name: t.name, arguments: args });
      const text = content.map((part) => part.text ?? "").join("");
      if (isError) throw new Error(text);
      return text;
    },
  }));
}
