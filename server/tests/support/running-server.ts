import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { randomUUID } from "node:crypto";
import { KeyStore, startServer } from "@millrace/server";
import type { RunningServer, ServerOptions } from "@millrace/server";
import { afterAll, beforeAll, inject, onTestFinished } from "vitest";
import type { ProvidedContext } from "vitest";
import { startTenantProxy } from "./tenant-proxy.ts";
import type { TenantProxy } from "./tenant-proxy.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** Undefined in projects whose tests start a server each. */
    readonly sharedServer: { readonly url: string; readonly dataDir: string } | undefined;
  }
}

/** A folder that is deleted after the test. */
export async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "millrace-server-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** Opened by the first test of a process, and released with it. */
let keys: KeyStore | undefined;

/**
 * A server that holds nothing yet, at an address of its own until the test ends: a new tenant of the server that all
 * tests share, or with `options` a server of the test's own.
 */
export async function runServer(options?: ServerOptions): Promise<RunningServer> {
  if (options !== undefined || inject("sharedServer") === undefined) {
    return runOwnServer(options);
  }
  const proxy = await startNewTenant();
  onTestFinished(() => proxy.close());
  return proxy;
}

/**
 * A new tenant of the shared server for all tests of the calling file. Its address is known once the tests run. A client
 * that blocks the thread can't use it, because the thread forwards the requests.
 */
export function useServer(): { readonly url: string } {
  let proxy: TenantProxy | undefined;
  beforeAll(async () => {
    proxy = await startNewTenant();
  });
  afterAll(() => proxy?.close());
  return {
    get url() {
      return proxy?.url ?? "";
    },
  };
}

/** The server that all tests share, where each request needs the key of a tenant. */
export function sharedServer(): NonNullable<ProvidedContext["sharedServer"]> {
  const shared = inject("sharedServer");
  if (shared === undefined) {
    throw new Error("this project shares no server: name shared-server.ts as its globalSetup");
  }
  return shared;
}

async function startNewTenant(): Promise<TenantProxy> {
  const shared = sharedServer();
  keys ??= new KeyStore(shared.dataDir);
  const { key } = await keys.create({ tenant: `t${randomUUID()}` });
  return startTenantProxy(shared.url, ["x-api-key", key]);
}

/** A server of the test's own on a free port, closed after the test. In memory where no folder is given. */
export async function runOwnServer(options: ServerOptions = {}): Promise<RunningServer> {
  const server = await startServer({ port: 0, dataDir: ":memory:", ...options });
  onTestFinished(() => server.close());
  return server;
}

export interface CallResult {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The parsed body; an empty object if it is not JSON. */
  readonly json: Json;
}

/** Any JSON value, whose members can be accessed. */
export interface Json {
  readonly [key: string]: Json;
  readonly [index: number]: Json;
}

export interface CallInit {
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Sends one request. A body that is neither text nor bytes is sent as JSON. */
export async function call(
  server: { readonly url: string },
  target: string,
  { body, headers = {} }: CallInit = {},
): Promise<CallResult> {
  const [method = "GET", path = "/"] = target.split(" ");
  const raw =
    body === undefined ||
    typeof body === "string" ||
    body instanceof Uint8Array ||
    body instanceof FormData
      ? body
      : JSON.stringify(body);
  const response = await fetch(server.url + path, {
    method,
    headers,
    body: (raw ?? null) as string | null,
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, text, json: parseJson(text) };
}

function parseJson(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return {}; // Not JSON; the test reads the text.
  }
}

/** A member that must be a string. */
export function textOf(value: unknown): string {
  if (typeof value !== "string") {
    throw new TypeError("the answer holds no text there");
  }
  return value;
}
