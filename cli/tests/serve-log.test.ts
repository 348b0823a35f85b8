import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { expect, test } from "vitest";
import { addressOf, ended, firstLine, folder, start } from "./support/command.ts";

const moduleUrl = new URL("../../server/dist/storage/thread-warnings.js", import.meta.url).href;

test("--log-format json writes a line for each request, without its query, body or key", async () => {
  const data = await folder();
  const args = ["serve", "--port", "0", "--data", data, "--api-key", "topsecret"];
  const server = start([...args, "--log-format", "json"]);
  const url = addressOf(await firstLine(server));
  const end = ended(server);
  const headers = { "x-api-key": "topsecret", "x-request-id": "from-a-test-1" };
  await (await fetch(`${url}/sessions?name=hidden`, { headers })).text();
  await fetch(`${url}/datasets`, { method: "POST", headers, body: '{"name":"private"}' });
  await fetch(`${url}/public/token-of-a-link/run`);
  server.kill("SIGTERM");
  const { code, errors } = await end;
  expect(code).toBe(0);
  const lines = errors
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>);
  const described = lines.map(({ method, route }) => `${String(method)} ${String(route)}`);
  expect(described.toSorted()).toEqual([
    "GET /public/:token/run",
    "GET /sessions",
    "POST /datasets",
  ]);
  expect(lines.find(({ route }) => route === "/sessions")).toEqual({
    time: expect.stringMatching(/Z$/) as string,
    level: "info",
    message: "request",
    request_id: "from-a-test-1",
    method: "GET",
    route: "/sessions",
    status: 200,
    duration_ms: expect.any(Number) as number,
    tenant_id: expect.stringMatching(/^[\da-f-]{36}$/) as string,
  });
  expect(errors).not.toMatch(/hidden|private|topsecret|token-of-a-link/);
});

test("an unknown format is refused with those that exist", async () => {
  const { code, errors } = await ended(start(["serve", "--log-format", "xml"]));
  expect(code).toBe(2);
  expect(errors).toBe(
    'error: --log-format (MILLRACE_LOG_FORMAT) must be json or text, not "xml"\n',
  );
});

test("warnings of a thread reach the thread that receives them, and are not printed", async () => {
  // In a process of threads of its own, because receiving replaces the listener of this process.
  const receiver = new Worker(
    `const { parentPort, Worker } = require("node:worker_threads");
    import(${JSON.stringify(moduleUrl)}).then(({ receiveWarnings }) => {
      const end = receiveWarnings((warning) => {
        parentPort.postMessage(warning);
        end();
      });
      new Worker(
        'import(' + JSON.stringify(${JSON.stringify(moduleUrl)}) + ').then(({ forwardWarnings }) => {' +
          'forwardWarnings("writer"); process.emitWarning("the disk is full"); })',
        { eval: true },
      );
    });
    setTimeout(() => {}, 5_000).unref();`,
    { eval: true, stderr: true },
  );
  let printed = "";
  receiver.stderr.on("data", (chunk: Buffer) => (printed += chunk.toString()));
  const [warning] = (await once(receiver, "message")) as [unknown];
  expect(warning).toEqual({ thread: "writer", message: "the disk is full" });
  await receiver.terminate();
  expect(printed).toBe("");
});
