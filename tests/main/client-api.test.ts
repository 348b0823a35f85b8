import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { startServer } from "@millrace/server";
import { Client } from "millrace";
import { expect, test } from "vitest";

test("networking code is loaded by the first call, and does not keep the process alive", async () => {
  const server = await startServer({ port: 0, dataDir: ":memory:" });
  const program = fileURLToPath(new URL("../support/api-program.mjs", import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, [program, server.url], {
    timeout: 10_000,
  });
  await server.close();
  expect(JSON.parse(stdout)).toEqual({ before: false, has: false, after: true });
});

test("the resources of a closed client refuse calls, and a second close changes nothing", async () => {
  const client = new Client();
  await client.close();
  await client.close();
  await expect(client.projects.has({ projectName: "p" })).rejects.toMatchObject({ code: "CLOSED" });
});
