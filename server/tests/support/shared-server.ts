import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { KeyStore, startServer } from "@millrace/server";
import type { TestProject } from "vitest/node";

let stop: (() => Promise<void>) | undefined;

/**
 * Starts one server for all tests of the project: starting a server takes longer than most tests. `runServer` gives each
 * test a tenant of its own on it. Vitest calls this before the first test.
 */
export async function setup(project: TestProject): Promise<void> {
  const dataDir = await mkdtemp(join(tmpdir(), "millrace-shared-"));
  const server = await startServer({ port: 0, dataDir });
  // From the first key on, the server requires one with every request, whichever test runs first.
  const keys = new KeyStore(dataDir);
  await keys.create({ tenant: "nobody" });
  keys.close();
  project.provide("sharedServer", { url: server.url, dataDir });
  stop = async () => {
    await server.close();
    await rm(dataDir, { recursive: true, force: true });
  };
}

/** Vitest calls this after the last test. */
export async function teardown(): Promise<void> {
  await stop?.();
}
