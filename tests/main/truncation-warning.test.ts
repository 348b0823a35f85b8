import { setImmediate } from "node:timers/promises";
import { expect, test } from "vitest";
import { Client } from "../../src/main/client.ts";

test("each truncated field is counted, and logged at most once a minute", async () => {
  const lines: string[] = [];
  const client = new Client({
    endpoint: "http://127.0.0.1:9",
    maxFieldBytes: 1_024,
    logger: { warn: (line) => lines.push(line) },
  });
  for (let i = 0; i < 3; i++) {
    client.startRun({ name: "run", inputs: { text: "x".repeat(5_000) } });
  }
  expect(client.stats().truncated).toBe(3);
  await setImmediate();
  client.startRun({ name: "run", inputs: { text: "x".repeat(5_000) } });
  await setImmediate();
  expect(lines).toEqual([expect.stringContaining("(maxFieldBytes)")]);
  await client.close({ timeoutMs: 0 });
});
