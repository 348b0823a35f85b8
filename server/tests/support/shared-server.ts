import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startServer } from "@millrace/server";
import type { TestProject } from "vitest/node";

/**
 * Starts one server for all tests of the project, before the first of them: to start one takes longer than most tests.
 * `runServer` gives each test a tenant of its own on it.
 */
export default async function startSharedServer(
  project: TestProject,
): Promise<() => Promise<void>> {
  const dataDir = await mkdtemp(join(tmpdir(), "millrace-shared-"));
  const server = await startServer({ port: 0, dataDir });
  project.provide("sharedServer", { url: server.url, dataDir });
  return async () => {
    await server.close();
    await rm(dataDir, { recursive: true, force: true });
  };
}
