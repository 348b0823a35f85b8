import { isJsonObject } from "./json-object.ts";
import type { JsonObject } from "./json-object.ts";

const hidden = "[credentials, not recorded]";

/**
 * Members with credentials of MCP servers and other remote tools, which a request passes to the provider: `tools` of
 * OpenAI's responses, and `mcp_servers` of Anthropic's messages.
 */
const credentialKeys: ReadonlySet<string> = new Set([
  "api_key",
  "authorization",
  "authorization_token",
  "headers",
]);

/** Copies a request or a response without the credentials of the remote tools in it. */
export function hideCredentials(body: JsonObject): JsonObject {
  const lists = ["tools", "mcp_servers"].filter((key) => Array.isArray(body[key]));
  return lists.length === 0
    ? body
    : { ...body, ...Object.fromEntries(lists.map((key) => [key, hideInList(body[key])])) };
}

const hideInList = (tools: unknown): unknown =>
  Array.isArray(tools) ? tools.map((tool: unknown) => hideInTool(tool)) : tools;

function hideInTool(tool: unknown): unknown {
  if (!isJsonObject(tool) || !Object.keys(tool).some((key) => credentialKeys.has(key))) {
    return tool;
  }
  return Object.fromEntries(
    Object.entries(tool).map(([key, value]) => [
      key,
      credentialKeys.has(key) && value !== null ? hidden : value,
    ]),
  );
}
