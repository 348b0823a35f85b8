// What does each step of recording a run cost the thread that is traced?
import { randomUUID } from "node:crypto";
import { v7 } from "uuid";
import { clock } from "../dist/model/clock.js";
import { createUuid7 } from "../dist/model/uuid7.js";
import { Tape } from "../dist/tracing/tape/tape.js";
import { TapeWriter } from "../dist/tracing/tape/tape-writer.js";
import { OrderBytes } from "../dist/tracing/tape/order-bytes.js";
import { ValueWriter } from "../dist/tracing/tape/value-writer.js";
import { publish } from "./results.ts";
import { cycle, RecordingOnly } from "./recording.ts";
import { timeWays } from "./timing.ts";
import type { Way } from "./timing.ts";
import { createPayloads, runsPerTree, sizeNames } from "./workload.ts";
import type { SizeName } from "./workload.ts";

const bufferBytes = 4_194_304;
const idsAtOnce = 1_000;

publish({
  script: "record",
  question: "What does each step of recording cost the traced thread?",
  body: await timeWays([
    ...sizeNames.flatMap(payloadWays),
    ...sizeNames.map(wholeWay),
    ...dottedOrderWays(),
    ...idWays(),
  ]),
});

/** Inputs and outputs of one run, from objects to bytes in a pooled buffer. */
function payloadWays(size: SizeName): readonly Way[] {
  const group = `payload to bytes, ${size}`;
  const nextToTape = cycle(createPayloads(size));
  const nextToJson = cycle(createPayloads(size));
  const tape = new Tape(bufferBytes);
  const writer = new TapeWriter(tape, () => {
    throw new RangeError("The tape is smaller than a run");
  });
  const values = new ValueWriter(writer);
  const buffer = Buffer.from(new SharedArrayBuffer(bufferBytes));
  return [
    {
      group,
      name: "`JSON.stringify`, `Buffer.write`",
      times: 1,
      run: () => {
        const { inputs, outputs } = nextToJson();
        const written = buffer.write(JSON.stringify(inputs));
        buffer.write(JSON.stringify(outputs), written);
      },
    },
    {
      group,
      name: "tape",
      times: 1,
      run: () => {
        const { inputs, outputs } = nextToTape();
        writer.beginRecord("post");
        values.write(inputs);
        values.write(outputs);
        writer.abandonRecord();
      },
    },
  ];
}

/** All that a start and an end do on the caller's thread, the queue included; tapes go nowhere. */
function wholeWay(size: SizeName): Way {
  const next = cycle(createPayloads(size));
  const client = new RecordingOnly((tape) => Promise.resolve({ delivered: tape.records, lost: 0 }));
  return {
    group: `start and end of a run, ${size}`,
    name: "`startRun`, `end`",
    times: runsPerTree,
    run: () => client.tree(next),
  };
}

function dottedOrderWays(): readonly Way[] {
  const group = "a segment of a dotted order";
  const id = createUuid7();
  return [
    many({
      group,
      name: "`toISOString`, a regular expression",
      make: () => `${new Date().toISOString().replaceAll(/[-:.]/g, "").slice(0, -1)}000Z${id}`,
    }),
    many({
      group,
      name: "ours, stamp cached by the second",
      make: () =>
        OrderBytes.fromPosition({ id, startMicros: clock(), parentOrder: undefined }).text,
    }),
  ];
}

function idWays(): readonly Way[] {
  const group = "an id";
  return [
    many({ group, name: "`uuid` v7", make: () => v7() }),
    many({ group, name: "`crypto.randomUUID` (not ordered)", make: () => randomUUID() }),
    many({ group, name: "ours, v7 over pooled random bytes", make: createUuid7 }),
  ];
}

interface Making {
  readonly group: string;
  readonly name: string;
  readonly make: () => string;
}

/** Too short to be timed alone. */
function many({ group, name, make }: Making): Way {
  let length = 0;
  const run = (): void => {
    for (let i = 0; i < idsAtOnce; i++) {
      // Kept, so that the call is not optimized away.
      length += make().length;
    }
    if (length === 0) {
      throw new RangeError(`Nothing was made: ${name}`);
    }
  };
  return { group, name, times: idsAtOnce, run };
}
