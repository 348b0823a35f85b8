import { request } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import { startServer } from "@millrace/server";
import type { RunningServer } from "@millrace/server";
import { startProxy } from "../../server/tests/support/tenant-proxy.ts";

/**
 * Starts a server that holds nothing. Where `MILLRACE_TEST_SERVERS` has addresses, separated by commas, of servers that
 * share a database and require no key, it is a new tenant of these instead; a request goes to another one if a server
 * refuses the connection.
 */
export function startTestServer(): Promise<RunningServer> {
  const urls = process.env["MILLRACE_TEST_SERVERS"];
  return urls === undefined || urls === ""
    ? startServer({ port: 0, dataDir: ":memory:" })
    : startTenant(urls.split(","));
}

async function startTenant(urls: readonly string[]): Promise<RunningServer> {
  const tenantId = await createTenant(urls);
  return startProxy((incoming, outgoing) => {
    forward(incoming, outgoing, { urls, tenantId }).catch(() => outgoing.destroy());
  });
}

/** Creates a tenant at the first server that answers. */
async function createTenant(urls: readonly string[]): Promise<string> {
  let reason = "";
  for (let attempt = 0; attempt < attempts; attempt += 1) {
    const url = urls[attempt % urls.length];
    try {
      const response = await fetch(`${url}/ui/tenants`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ handle: `t${crypto.randomUUID()}` }),
      });
      const text = await response.text();
      if (response.ok) {
        return (JSON.parse(text) as { readonly id: string }).id;
      }
      reason = text;
    } catch (cause) {
      reason = String(cause);
    }
    await sleep(retryMs);
  }
  throw new Error(`no server created a tenant: ${reason}`);
}

const attempts = 100;
const retryMs = 200;

interface Target {
  readonly urls: readonly string[];
  readonly tenantId: string;
}

/** Sends a request to the first server that accepts the connection, with the tenant in a header. */
async function forward(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  { urls, tenantId }: Target,
): Promise<void> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) {
    chunks.push(chunk as Buffer);
  }
  const body = Buffer.concat(chunks);
  for (let attempt = 0; ; attempt += 1) {
    const url = new URL(incoming.url ?? "/", urls[attempt % urls.length]);
    try {
      const response = await send(url, incoming, { body, tenantId });
      outgoing.writeHead(response.statusCode ?? 502, response.statusMessage, response.rawHeaders);
      response.pipe(outgoing);
      response.on("error", () => outgoing.destroy());
      return;
    } catch (cause) {
      const isRefused = (cause as NodeJS.ErrnoException).code === "ECONNREFUSED";
      if (!isRefused || attempt >= attempts) {
        throw cause;
      }
      await sleep(retryMs / urls.length);
    }
  }
}

const send = (
  url: URL,
  { method = "GET", headers: { "transfer-encoding": _coding, ...headers } }: IncomingMessage,
  { body, tenantId }: { readonly body: Buffer; readonly tenantId: string },
): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    const upstream = request(
      url,
      {
        method,
        headers: {
          ...headers,
          "x-tenant-id": tenantId,
          ...(body.length > 0 && { "content-length": body.length }),
        },
      },
      resolve,
    );
    upstream.on("error", reject);
    upstream.end(body);
  });
