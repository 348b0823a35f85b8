import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import type { StoredRun } from "../src/runs/run-row.ts";
import { toPageJson } from "../src/runs/serializers/run-json.ts";

/** Eight megabytes of small values, which take some tens of milliseconds to process. */
const body = Buffer.from(
  `{"inputs":{"values":[${Array.from({ length: 1_000_000 }, (_, at) => at).join(",")}]}}`,
);

const run = (): StoredRun => ({
  row: {
    traceId: randomUUID(),
    id: randomUUID(),
    projectId: randomUUID(),
    name: "long",
    runType: "llm",
    startMicros: 1,
    endMicros: 2,
    hasError: false,
    parentRunId: null,
    dottedOrder: "",
    referenceExampleId: null,
    posted: true,
    patched: 0,
    measures: "none",
  },
  tenantId: "",
  projectName: "",
  bodies: [body, body, body],
  shareToken: null,
  attachments: [],
  childRunIds: null,
  directChildRunIds: null,
});

test("serializing a page of long payloads lets other requests run between its runs", async () => {
  let turns = 0;
  let isDone = false;
  const count = (): void => {
    turns += 1;
    if (!isDone) {
      setImmediate(count);
    }
  };
  setImmediate(count);
  const json = await toPageJson([1, 2, 3, 4, 5, 6].map(run), () => ({}), { next: null });
  isDone = true;
  expect(turns).toBeGreaterThanOrEqual(3);
  expect((JSON.parse(json.toString()) as { runs: readonly unknown[] }).runs).toHaveLength(6);
});
