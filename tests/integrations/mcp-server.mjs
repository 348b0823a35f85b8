// An MCP server on standard input and output, which the test starts as a process of its own.
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { Client, traceable } from "millrace";
import { traceServer } from "millrace/mcp";
import { z } from "zod";

const client = new Client({ endpoint: process.env.ENDPOINT, projectName: "other" });
const double = traceable(async (number) => 2 * number, { name: "double", client });

const server = new McpServer({ name: "numbers", version: "1.0.0" });
server.registerTool("double", { inputSchema: { number: z.number() } }, async ({ number }) => ({
  content: [{ type: "text", text: String(await double(number)) }],
}));
await traceServer(server, { client }).connect(new StdioServerTransport());
