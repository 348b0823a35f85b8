import { expect, test } from "vitest";
import { neverRespond, loopbackServer } from "../support/loopback-server.ts";
import { runProgram } from "../support/run-program.ts";

const recordOne = `
  const client = new Client({ endpoint: process.env.ENDPOINT, drainTimeoutMs: 300, timeoutMs: 60_000 });
  client.startRun({ name: "one" }).end({});
`;

test("an idle pool does not keep the process alive", async () => {
  await using server = await loopbackServer();
  const source = `${recordOne} await client.flush({ timeoutMs: 5_000 }); console.log(client.stats().delivered);`;
  const { code, output } = await runProgram(source, {
    env: { ENDPOINT: server.endpoint },
  });
  expect({ code, output }).toEqual({ code: 0, output: "2\n" });
});

test("a running task does not keep the process alive beyond drainTimeoutMs", async () => {
  await using server = await loopbackServer({ runs: [neverRespond] });
  const { code, durationMs } = await runProgram(recordOne, {
    env: { ENDPOINT: server.endpoint },
  });
  expect(code).toBe(0);
  expect(server.runRequests).toHaveLength(1);
  expect(durationMs).toBeLessThan(5_000);
});

test.each(["NODE_OPTIONS", "argument"] as const)(
  "a preload by %s that records runs of its own starts no workers in workers",
  async (by) => {
    await using server = await loopbackServer();
    const preload = {
      by,
      source: `
        import { threadId } from "node:worker_threads";
        console.log("loaded in thread", threadId);
        const client = new Client({ endpoint: process.env.ENDPOINT });
        client.startRun({ name: "preload" }).end({});
      `,
    };
    const { code, output } = await runProgram(recordOne, {
      env: { ENDPOINT: server.endpoint },
      preload,
    });
    expect({ code, output }).toEqual({ code: 0, output: "loaded in thread 0\n" });
    expect(server.runRequests).toHaveLength(2);
  },
);
