import { getEventListeners } from "node:events";
import { expect, test } from "vitest";
import { runsOn } from "../../src/bulk/kinds.ts";
import { checkSettings } from "../../src/bulk/settings.ts";
import { BulkUpload } from "../../src/bulk/upload.ts";
import { forgetUntil } from "../../src/bulk/uploads.ts";

test("of an upload that ended neither its rows nor its listener stay in memory", async () => {
  const { signal } = new AbortController();
  const rowOf = new Map<string, number>();
  const hiding = { hideInputs: false, hideOutputs: false, hideMetadata: false } as const;
  const kind = {
    target: "runs",
    encoderOn: runsOn({ project: "p" }, { hiding, attachmentBytes: 1_000, rowOf }),
    ship: async () => ({ created: 1, skipped: 0, rejected: [], bytes: 0 }),
    onDone: (rows: number) => forgetUntil(rowOf, rows),
  };
  const settings = checkSettings({ signal });
  const upload = new BulkUpload(kind, settings, { checkpoint: undefined, warnings: [] });
  const id = "0a1b2c3d-0000-4000-8000-000000000000";
  for (const last of ["0", "1", "2", "1"]) {
    await upload.add({ id: id.slice(0, -1) + last, name: "n", run_type: "chain", inputs: {} });
  }
  expect(rowOf.size).toBe(3);
  expect(getEventListeners(signal, "abort")).toHaveLength(1);
  await upload.finish();
  expect(rowOf.size).toBe(0);
  expect(getEventListeners(signal, "abort")).toHaveLength(0);
});
