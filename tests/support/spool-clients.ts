import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { Client } from "millrace";
import type { ClientOptions } from "millrace";
import { afterEach, expect } from "vitest";
import { testSpool, useSpoolFolders } from "./spooling.ts";

/** No server listens at this URL. */
export const unreachable = "http://127.0.0.1:9";

const clients: Client[] = [];

/** Gives each test of the calling file a new spool folder, and closes the clients of the test before deleting it. */
export function useSpoolClients(): void {
  // The hooks run in reverse order, so the clients are closed first.
  useSpoolFolders();
  afterEach(async () => {
    for (const client of clients.splice(0)) {
      await client.close({ timeoutMs: 0 });
    }
  });
}

/** Creates a client whose spool is the folder of the current test. */
export function createSpoolClient(endpoint: string, options: ClientOptions = {}): Client {
  const client = new Client({
    endpoint,
    spoolDir: testSpool.folder,
    logger: { warn: () => undefined },
    ...options,
  });
  clients.push(client);
  return client;
}

/** The names of the spool's segment files. */
export const listSegments = (): readonly string[] =>
  readdirSync(testSpool.folder, { recursive: true, encoding: "utf8" }).filter((name) =>
    name.endsWith(".seg"),
  );

/** Runs a program of this folder until it kills itself. Returns the lines that it printed: ids of runs. */
export async function runUntilKilled(
  program: string,
  { when, endpoint }: { readonly when: string; readonly endpoint: string },
): Promise<readonly string[]> {
  const path = join(import.meta.dirname, program);
  const child = spawn(process.execPath, [path, testSpool.folder, endpoint, when]);
  let output = "";
  child.stdout.on("data", (chunk: Buffer) => {
    output += chunk.toString();
  });
  const [, signal] = (await once(child, "close")) as [number | null, string | null];
  expect(signal).toBe("SIGKILL");
  return output.split("\n").filter((line) => line !== "");
}
