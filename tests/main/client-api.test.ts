import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { startServer } from "@millrace/server";
import { Client, OptionError } from "millrace";
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

test.each<readonly [string, unknown]>([
  ["null", null],
  ["a string", "secret-key"],
  ["a number", 7],
  ["an array", [{ projectName: "p" }]],
  ["a function", () => ({ projectName: "p" })],
  ["an object of the class Map", new Map([["projectName", "p"]])],
])("new Client refuses %s in place of an object of options", (given, options) => {
  const create = (): Client => new Client(options as never);
  expect(create).toThrow(OptionError);
  expect(create).toThrow(
    new RegExp(
      `^new Client: options must be an object such as \\{ endpoint: "http://localhost:1984" \\}, not ${given}`,
    ),
  );
  expect(create).not.toThrow(/secret/);
});
