import { expect, test } from "vitest";
import { payloadFields } from "../../src/model/run.ts";
import { countOutcomes } from "../../src/tracing/tape/tally.ts";
import { TapeReader } from "../../src/workers/json/tape-reader.ts";
import { createTestBatcher } from "../support/batching.ts";

const allPayloads = payloadFields.length;

test.each([
  [{ payloads: 0, attachments: 1 }, 0, 1],
  [{ payloads: 1, attachments: 0 }, 1, 0],
  [{ payloads: allPayloads, attachments: 31 }, allPayloads, 31],
  [{ payloads: 2, attachments: 1_000 }, 2, 31],
])(
  "what was left out of delivered runs is counted by its kind: %j",
  (withheld, truncated, omittedAttachments) => {
    const { record, batcher } = createTestBatcher();
    record();
    record();
    const [shipment] = batcher.takeAll().waiting;
    const { tape } = shipment!;
    const reader = new TapeReader(tape.memory, tape.usedBytes);
    reader.writeOutcome(0, "delivered");
    reader.writeWithheldCounts(0, withheld);
    expect(countOutcomes(tape)).toMatchObject({
      delivered: 1,
      pending: 1,
      truncated,
      omittedAttachments,
    });
  },
);
