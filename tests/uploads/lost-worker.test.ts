import { expect, test } from "vitest";
import type { ChunkReply, ChunkShipper } from "../../src/uploads/chunk-task.ts";
import { Uploads } from "../../src/uploads/uploads.ts";
import { WorkerError } from "../../src/model/errors.ts";
import { packError } from "../../src/api/sync/packed-error.ts";
import { TapeReader } from "../../src/workers/json/tape-reader.ts";

const runId = "01890a5d-ac96-774b-bcce-b302099a8057";
const emptyResult = { created: 0, skipped: 0, rejected: [], bytes: 0 };

/** Settles two rows with different outcomes and crashes; the second time, it settles the others. */
function crashOnce(): ChunkShipper {
  let ships = 0;
  return {
    ship: ({ memory, usedBytes }): Promise<ChunkReply> => {
      const reader = new TapeReader(memory, usedBytes);
      ships += 1;
      if (ships === 1) {
        reader.writeOutcome(0, "delivered");
        reader.writeOutcome(1, "rejected");
        const failure = packError(new WorkerError("the worker died"));
        return Promise.resolve({ ...emptyResult, failure });
      }
      for (let record = 0; record < reader.count; record++) {
        reader.writeOutcome(record, "delivered");
      }
      return Promise.resolve({ ...emptyResult, created: reader.count });
    },
  };
}

test("rows that a worker finished before it crashed are counted, and not sent again", async () => {
  const shipper = crashOnce();
  const uploads = new Uploads({
    call: () => Promise.reject(new RangeError("no request is expected")),
    datasets: { create: () => Promise.reject(new RangeError("nothing is to be made")) },
    getShipper: () => shipper,
    filters: { hideInputs: false, hideOutputs: false, hideMetadata: false },
    attachmentBytes: 1_024,
    projectName: "p",
  });
  const rows = Array.from({ length: 5 }, (_, index) => ({ runId, key: `k${index}`, score: 1 }));
  const result = await uploads.uploadFeedback(rows, {});
  expect(result).toMatchObject({ read: 5, created: 4, skipped: 0, rejected: 1 });
  expect(result.faults[0]?.reason).toContain(
    "row and reason are unknown because the worker crashed",
  );
});
