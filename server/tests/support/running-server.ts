import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startServer } from "@millrace/server";
import type { RunningServer, ServerOptions } from "@millrace/server";
import { onTestFinished } from "vitest";

/** A folder that is deleted after the test. */
export async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "millrace-server-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** A server on a free port that is closed after the test; in memory if no folder is given. */
export async function runServer(options: ServerOptions = {}): Promise<RunningServer> {
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
