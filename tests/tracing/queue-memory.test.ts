import * as fc from "fast-check";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createTestBatcher } from "../support/batching.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const tapeBytes = 4_096;
const maxQueueBytes = 65_536;
/** Bytes of a record in addition to its text. */
const envelopeBytes = 1_024;

test.each(["drop-newest", "drop-oldest", "spool", "block"] as const)(
  "%s: waiting records use at most maxQueueBytes, one record and two tapes, whatever the records' sizes",
  (overflow) => {
    const largest = 30_000;
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: largest }), { maxLength: 60 }), (sizes) => {
        const { batcher, record, ledger } = createTestBatcher({
          tapeBytes,
          maxQueueBytes,
          overflow,
        });
        for (const size of sizes) {
          record(size);
          expect(batcher.queuedBytes).toBeLessThanOrEqual(
            maxQueueBytes + largest + envelopeBytes + 2 * tapeBytes,
          );
        }
        expect(ledger.accepted).toBe(sizes.length);
      }),
    );
  },
);
