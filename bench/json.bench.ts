// What does a worker spend on turning a tape's payloads into JSON?
import { field } from "../dist/model/records/tape-format.js";
import { JsonWriter } from "../dist/workers/json/json-writer.js";
import { TapeReader } from "../dist/workers/json/tape-reader.js";
import { recordTape } from "./recording.ts";
import { publish } from "./results.ts";
import { timeWays } from "./timing.ts";
import type { Way } from "./timing.ts";
import { sizeNames } from "./workload.ts";
import type { SizeName } from "./workload.ts";

const buffer = Buffer.allocUnsafeSlow(8_388_608);
const payloadCodes = [field.inputs, field.outputs];

publish({
  script: "json",
  question: "What does a worker spend on the JSON of one payload (inputs or outputs)?",
  body: await timeWays(sizeNames.flatMap(jsonWays)),
});

function jsonWays(size: SizeName): readonly Way[] {
  const { memory, used } = recordTape(size);
  const reader = new TapeReader(memory, used);
  const starts = payloadStarts(reader);
  const texts = starts.map((at) => {
    const out = new JsonWriter(buffer);
    out.value(reader.bytes, reader.view, at);
    return Buffer.from(buffer.subarray(0, out.length));
  });
  const shared = { group: `payload, ${size}`, times: starts.length };
  return [
    {
      ...shared,
      name: "decode it, `JSON.stringify`, `Buffer.write`",
      run: () => {
        let at = 0;
        for (const text of texts) {
          at += buffer.write(JSON.stringify(JSON.parse(text.toString())), at);
        }
      },
    },
    {
      ...shared,
      name: "from the tape's bytes",
      run: () => {
        const out = new JsonWriter(buffer);
        for (const at of starts) {
          out.value(reader.bytes, reader.view, at);
        }
      },
    },
  ];
}

function payloadStarts(of: TapeReader): readonly number[] {
  const starts: number[] = [];
  for (let record = 0; record < of.count; record++) {
    starts.push(...payloadCodes.map((code) => of.start(record, code)).filter((at) => at !== 0));
  }
  return starts;
}
