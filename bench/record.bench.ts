// What does each step of recording a run cost the main thread?
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
import { timeVariants } from "./timing.ts";
import type { Variant } from "./timing.ts";
import { createPayloads, runsPerTree, sizeNames } from "./workload.ts";
import type { SizeName } from "./workload.ts";

const bufferBytes = 4_194_304;
const repetitions = 1_000;

publish({
  script: "record",
  question: "What does each step of recording a run cost the main thread?",
  body: await timeVariants([
    ...sizeNames.flatMap(createPayloadVariants),
    ...sizeNames.map(createRunVariant),
    ...createDottedOrderVariants(),
    ...createIdVariants(),
  ]),
});

/** Variants of encoding the inputs and outputs of one run into a reused buffer. */
function createPayloadVariants(size: SizeName): readonly Variant[] {
  const group = `payload to bytes, ${size}`;
  const nextToTape = cycle(createPayloads(size));
  const nextToJson = cycle(createPayloads(size));
  const tape = new Tape(bufferBytes);
  const writer = new TapeWriter(tape, () => {
    throw new RangeError("The run does not fit on the tape");
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

/** The complete work of a start and an end on the caller's thread, including the queue. Tapes are discarded. */
function createRunVariant(size: SizeName): Variant {
  const nextPayload = cycle(createPayloads(size));
  const client = new RecordingOnly((tape) => Promise.resolve({ delivered: tape.records, lost: 0 }));
  return {
    group: `start and end of a run, ${size}`,
    name: "`startRun`, `end`",
    times: runsPerTree,
    run: () => client.recordTree(nextPayload),
  };
}

function createDottedOrderVariants(): readonly Variant[] {
  const group = "a segment of a dotted order";
  const id = createUuid7();
  return [
    createRepeatedVariant({
      group,
      name: "`toISOString`, a regular expression",
      make: () => `${new Date().toISOString().replaceAll(/[-:.]/g, "").slice(0, -1)}000Z${id}`,
    }),
    createRepeatedVariant({
      group,
      name: "millrace: stamp cached for a second",
      make: () =>
        OrderBytes.fromPosition({ id, startMicros: clock(), parentOrder: undefined }).text,
    }),
  ];
}

function createIdVariants(): readonly Variant[] {
  const group = "an id";
  return [
    createRepeatedVariant({ group, name: "`uuid` v7", make: () => v7() }),
    createRepeatedVariant({
      group,
      name: "`crypto.randomUUID` (not ordered)",
      make: () => randomUUID(),
    }),
    createRepeatedVariant({
      group,
      name: "millrace: v7 from pooled random bytes",
      make: createUuid7,
    }),
  ];
}

interface RepeatedWork {
  readonly group: string;
  readonly name: string;
  readonly make: () => string;
}

/** Creates a variant that repeats work which is too short to be timed alone. */
function createRepeatedVariant({ group, name, make }: RepeatedWork): Variant {
  let length = 0;
  const run = (): void => {
    for (let i = 0; i < repetitions; i++) {
      // Use the result, so that V8 does not remove the call.
      length += make().length;
    }
    if (length === 0) {
      throw new RangeError(`The variant returned only empty strings: ${name}`);
    }
  };
  return { group, name, times: repetitions, run };
}
