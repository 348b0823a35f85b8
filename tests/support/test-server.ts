import { request } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import { startServer } from "@millrace/server";
import type { RunningServer } from "@millrace/server";
import type { AppliedLog, MessageRange } from "../../server/tests/support/applied-log.ts";
import { startProxy } from "../../server/tests/support/tenant-proxy.ts";

/**
 * Starts a server that holds nothing. Where `MILLRACE_TEST_SERVERS` has addresses, separated by commas, of servers that
 * share a database and require no key, it is a new tenant of these instead; a request goes to another one if a server
 * refuses the connection.
 *
 * Servers that store runs later have the address of their log in `MILLRACE_TEST_LOG`. What a test has sent there is then
 * awaited before its next request that is not a further write to the log, as a program would read until it is there.
 */
export function startTestServer(): Promise<RunningServer> {
  const { MILLRACE_TEST_SERVERS: urls, MILLRACE_TEST_LOG: log } = process.env;
  return urls === undefined || urls === ""
    ? startServer({ port: 0, dataDir: ":memory:" })
    : startTenant(urls.split(","), log);
}

async function startTenant(
  urls: readonly string[],
  logUrl: string | undefined,
): Promise<RunningServer> {
  const tenantId = await createTenant(urls);
  const writes = logUrl === undefined ? undefined : await LoggedWrites.open(logUrl);
  const proxy = await startProxy((incoming, outgoing) => {
    forward(incoming, outgoing, { urls, tenantId, writes }).catch((cause: unknown) => {
      process.emitWarning(`${incoming.method} ${incoming.url}: ${String(cause)}`);
      outgoing.destroy();
    });
  });
  return {
    ...proxy,
    close: async () => {
      await proxy.close();
      await writes?.close();
    },
  };
}

/** How long the test waits until the log has stored what was written; longer than a failover of the database takes. */
const appliedMs = 60_000;

/** The requests of a tenant that a log has received, and that are perhaps not stored yet. */
class LoggedWrites {
  readonly #log: AppliedLog;
  #unread: readonly MessageRange[] = [];

  private constructor(log: AppliedLog) {
    this.#log = log;
  }

  static async open(url: string): Promise<LoggedWrites> {
    // Most runs of the suites need no client of NATS.
    const { AppliedLog } = await import("../../server/tests/support/applied-log.ts");
    return new LoggedWrites(await AppliedLog.open(url));
  }

  /** Sends a request that writes to the log, and remembers which messages may contain it. */
  async note<Response>(write: () => Promise<Response>): Promise<Response> {
    const after = await this.#log.readNewest(appliedMs);
    try {
      return await write();
    } finally {
      // Whatever the response is, the log may have it.
      const upTo = await this.#log.readNewest(appliedMs);
      this.#unread = [...this.#unread, { after, upTo }];
    }
  }

  /** Resolves when everything that was written can be read. */
  async waitUntilRead(): Promise<void> {
    const ranges = this.#unread;
    await Promise.all(ranges.map((range) => this.#log.waitUntilApplied(range, appliedMs)));
    this.#unread = this.#unread.filter((range) => !ranges.includes(range));
  }

  async close(): Promise<void> {
    await this.#log[Symbol.asyncDispose]();
  }
}

/** Whether a log receives what the request brings. */
const isLogged = ({ method = "", url = "" }: IncomingMessage): boolean =>
  /^(?:POST|PATCH)$/.test(method) &&
  /^(?:\/api\/v1)?\/(?:runs(?:\/(?:batch|multipart|[\da-f-]{36}))?|otel\/v1\/traces)\/?(?:\?|$)/i.test(
    url,
  );

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
  readonly writes: LoggedWrites | undefined;
}

/** Sends a request to the first server that accepts the connection, with the tenant in a header. */
async function forward(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  { urls, tenantId, writes }: Target,
): Promise<void> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) {
    chunks.push(chunk as Buffer);
  }
  const body = Buffer.concat(chunks);
  const sendOnce = (): Promise<IncomingMessage> => sendToFirst(incoming, { urls, tenantId, body });
  let response: IncomingMessage;
  if (writes !== undefined && isLogged(incoming)) {
    response = await writes.note(sendOnce);
  } else {
    await writes?.waitUntilRead();
    response = await sendOnce();
  }
  outgoing.writeHead(response.statusCode ?? 502, response.statusMessage, response.rawHeaders);
  response.pipe(outgoing);
  response.on("error", () => outgoing.destroy());
}

async function sendToFirst(
  incoming: IncomingMessage,
  { urls, tenantId, body }: Omit<Target, "writes"> & { readonly body: Buffer },
): Promise<IncomingMessage> {
  for (let attempt = 0; ; attempt += 1) {
    const url = new URL(incoming.url ?? "/", urls[attempt % urls.length]);
    try {
      return await send(url, incoming, { body, tenantId });
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
