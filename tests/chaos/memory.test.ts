import { expect, test } from "vitest";
import { copyWithCrashingWorker } from "../support/package-copy.ts";
import { runCounter } from "../support/run-counter.ts";
import { runProgram } from "../support/run-program.ts";

const report = `console.log(JSON.stringify({ ...(await client.flush()), lost: client.stats().lost }));`;

test("a run on which a worker runs out of memory is quarantined; the program and other runs are not affected", async () => {
  await using copy = await copyWithCrashingWorker();
  await using server = await runCounter();
  const source = `
    const client = new Client({ endpoint: process.env.ENDPOINT });
    await client.flush(); // after its first flush a client sends from workers only
    for (const name of ["first", "heap", "last"]) {
      client.startRun({ name }).end({});
    }
    ${report}
  `;
  const { code, output } = await runProgram(source, {
    env: { ENDPOINT: server.url },
    nodeArguments: ["--max-old-space-size=64"],
    entry: copy.addressOf("main/index"),
  });
  expect(code).toBe(0);
  const [json = ""] = output.split("\n").filter((line) => line.startsWith("{"));
  expect(JSON.parse(json)).toMatchObject({
    delivered: 4,
    lost: { quarantined: 2, workerLost: 0 },
  });
  expect(server.ended.size).toBe(2);
}, 30_000);

test("a tape that needs more memory than a worker has is delivered in parts", async () => {
  await using server = await runCounter();
  const source = `
    let workers = 0;
    process.on("worker", () => workers++);
    const client = new Client({
      endpoint: process.env.ENDPOINT,
      tapeBytes: 134_217_728,
      maxQueueBytes: 536_870_912,
      firstDelayMs: 60_000,
      drainTimeoutMs: 600_000,
    });
    for (let i = 0; i < 100_000; i++) {
      client.startRun({ name: "run" });
    }
    ${report}
    console.log(workers > 1 ? "workers died" : "no worker died");
  `;
  const { code, output } = await runProgram(source, {
    env: { ENDPOINT: server.url },
    nodeArguments: ["--max-old-space-size=28"],
  });
  expect(code).toBe(0);
  expect(output).toContain("workers died");
  expect(output).toContain('"delivered":100000');
  expect(server.started.size).toBe(100_000);
}, 90_000);
