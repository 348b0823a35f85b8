// How long does a worker take to convert a tape's payloads to JSON?
import { field } from "../dist/model/records/tape-format.js";
import { JsonWriter } from "../dist/workers/json/json-writer.js";
import { TapeReader } from "../dist/workers/json/tape-reader.js";
import { WasmJson } from "../dist/workers/json/wasm-json.js";
import { recordTape } from "./recording.ts";
import { publish } from "./results.ts";
import { timeVariants } from "./timing.ts";
import type { Variant } from "./timing.ts";
import { workloadNames } from "./workloads.ts";
import type { WorkloadName } from "./workloads.ts";

const buffer = Buffer.allocUnsafeSlow(8_388_608);
const payloadCodes = [field.inputs, field.outputs];

const wasm = createWasm();

publish({
  script: "json",
  question: "How long does a worker take to convert one payload (inputs or outputs) to JSON?",
  body: await timeVariants(
    (await Promise.all(workloadNames.map((name) => createJsonVariants(name)))).flat(),
  ),
});

function createWasm(): WasmJson {
  const created = WasmJson.create(Buffer.from("{}"));
  if (created === undefined) {
    throw new Error("This process has no WebAssembly");
  }
  return created;
}

async function createJsonVariants(workload: WorkloadName): Promise<readonly Variant[]> {
  const { memory, usedBytes } = await recordTape(workload);
  const reader = new TapeReader(memory, usedBytes);
  const offsets = findPayloadOffsets(reader);
  const texts = offsets.map((offset) => {
    const out = new JsonWriter(buffer);
    out.writeValue(reader.bytes, reader.view, offset);
    return Buffer.from(buffer.subarray(0, out.length));
  });
  const everyRecord = { records: Array.from({ length: reader.count }, (_, record) => record) };
  const common = { group: `payload, ${workload}`, times: offsets.length };
  return [
    {
      ...common,
      name: "decode, `JSON.stringify`, `Buffer.write`",
      run: () => {
        let offset = 0;
        for (const text of texts) {
          offset += buffer.write(JSON.stringify(JSON.parse(text.toString())), offset);
        }
      },
    },
    {
      ...common,
      name: "directly from the tape's bytes",
      run: () => {
        const out = new JsonWriter(buffer);
        for (const offset of offsets) {
          out.writeValue(reader.bytes, reader.view, offset);
        }
      },
    },
    {
      ...common,
      name: "by the WebAssembly module",
      run: () => {
        wasm.begin(new JsonWriter(buffer), reader, [everyRecord]);
        for (const offset of offsets) {
          wasm.writeValue(offset);
        }
        wasm.end();
      },
    },
  ];
}

function findPayloadOffsets(tape: TapeReader): readonly number[] {
  const offsets: number[] = [];
  for (let record = 0; record < tape.count; record++) {
    offsets.push(
      ...payloadCodes
        .map((code) => tape.findFieldStart(record, code))
        .filter((offset) => offset !== 0),
    );
  }
  return offsets;
}
