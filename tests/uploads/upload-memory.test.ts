import { getEventListeners } from "node:events";
import { setImmediate } from "node:timers/promises";
import { expect, test } from "vitest";
import type { CreateFeedback } from "../../src/api/feedback-input.ts";
import { createFeedbackEncoder, createRunEncoder } from "../../src/uploads/kinds.ts";
import { checkSettings } from "../../src/uploads/settings.ts";
import { BulkUpload } from "../../src/uploads/upload.ts";
import { deleteRowsUpTo } from "../../src/uploads/uploads.ts";
import type { Tape } from "../../src/tracing/tape/tape.ts";

const runId = "01890a5d-ac96-774b-bcce-b302099a8057";

test("neither rows nor listeners of an ended upload stay in memory", async () => {
  const { signal } = new AbortController();
  const rowNumbersById = new Map<string, number>();
  const filters = { hideInputs: false, hideOutputs: false, hideMetadata: false } as const;
  const kind = {
    target: "runs",
    createEncoder: createRunEncoder(
      { projectName: "p" },
      { filters, attachmentBytes: 1_000, rowNumbersById },
    ),
    sendTape: async () => ({ created: 1, skipped: 0, rejected: [], bytes: 0 }),
    onDone: (rows: number) => deleteRowsUpTo(rowNumbersById, rows),
  };
  const settings = checkSettings({ signal });
  const upload = new BulkUpload(kind, settings, { checkpoint: undefined, warnings: [] });
  const id = "0a1b2c3d-0000-4000-8000-000000000000";
  for (const last of ["0", "1", "2", "1"]) {
    await upload.add({ id: id.slice(0, -1) + last, name: "n", run_type: "chain", inputs: {} });
  }
  expect(rowNumbersById.size).toBe(3);
  expect(getEventListeners(signal, "abort")).toHaveLength(1);
  await upload.finish();
  expect(rowNumbersById.size).toBe(0);
  expect(getEventListeners(signal, "abort")).toHaveLength(0);
});

/** Uploads feedback of 200 bytes to a shipper that settles a little later. Returns the number of buffers used, and the most rows in flight at once. */
async function uploadAndMeasure(rows: number): Promise<{ buffers: number; mostInFlight: number }> {
  const buffers = new Set<SharedArrayBuffer>();
  const settings = checkSettings({ chunkCount: 100, chunkBytes: 16_384, inFlight: 3 });
  let [added, settled, mostInFlight] = [0, 0, 0];
  const kind = {
    target: "feedback",
    createEncoder: createFeedbackEncoder<CreateFeedback>({}),
    sendTape: async ({ memory, records }: Tape) => {
      buffers.add(memory);
      await setImmediate();
      settled += records;
      return { created: records, skipped: 0, rejected: [], bytes: 0 };
    },
  };
  const upload = new BulkUpload(kind, settings, { checkpoint: undefined, warnings: [] });
  for (let n = 0; n < rows; n++) {
    added += 1;
    mostInFlight = Math.max(mostInFlight, added - settled);
    await upload.add({ runId, key: `k${n}`, score: 1, comment: "c".repeat(200) });
  }
  expect(await upload.finish()).toMatchObject({ read: rows, created: rows });
  return { buffers: buffers.size, mostInFlight };
}

test("ten times as many rows use no more buffers, and no more of them are in flight at once", async () => {
  const [few, many] = [await uploadAndMeasure(3_000), await uploadAndMeasure(30_000)];
  expect(few.buffers).toBeGreaterThan(1);
  expect(many.buffers).toBeLessThanOrEqual(few.buffers);
  expect(many.mostInFlight).toBeLessThanOrEqual(few.mostInFlight);
  expect(many.mostInFlight).toBeLessThan(500);
});
