import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { startServer } from "@millrace/server";
import { Client } from "millrace";
import { expect, test } from "vitest";

test("a client that asks nothing loads nothing to ask with, and holds no process after", async () => {
  const server = await startServer({ port: 0, dataDir: ":memory:" });
  const program = fileURLToPath(new URL("../support/api-program.mjs", import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, [program, server.url], {
    timeout: 10_000,
  });
  await server.close();
  expect(JSON.parse(stdout)).toEqual({ before: false, has: false, after: true });
});

test("the nouns of a closed client refuse, and a second close changes nothing", async () => {
  const client = new Client();
  await client.close();
  await client.close();
  await expect(client.projects.has({ projectName: "p" })).rejects.toMatchObject({ code: "CLOSED" });
});
