import { field } from "../../src/model/records/tape-format.ts";
import { Tape } from "../../src/tracing/tape/tape.ts";
import { TapeWriter } from "../../src/tracing/tape/tape-writer.ts";
import { ValueWriter } from "../../src/tracing/tape/value-writer.ts";
import { JsonWriter } from "../../src/workers/json/json-writer.ts";
import { TapeReader } from "../../src/workers/json/tape-reader.ts";
import { WasmJson } from "../../src/workers/json/wasm-json.ts";

/** The WebAssembly module, as a worker creates it. */
const wasm = WasmJson.create(Buffer.from('{"sdk":"test"}'));

/**
 * The JSON that a worker writes for a value on a tape, whose first buffer has `tapeBytes`.
 *
 * @throws RangeError the TypeScript writer and the WebAssembly module wrote different JSON.
 */
export function writeJson(value: unknown, tapeBytes = 65_536, fieldBytes?: number): string {
  const [json = ""] = writeJsonOfValues([value], tapeBytes, fieldBytes);
  return json;
}

/** Like {@link writeJson}, for several values: a single writer writes each into its own record. */
export function writeJsonOfValues(
  values: readonly unknown[],
  tapeBytes = 65_536,
  fieldBytes?: number,
): string[] {
  const next = (atLeast: number): Tape => new Tape(atLeast * 2);
  const writer = new TapeWriter(new Tape(tapeBytes), next, fieldBytes);
  const written = new ValueWriter(writer);
  return values.map((value) => {
    writer.beginRecord("post");
    const mark = writer.beginField(field.inputs);
    written.write(value);
    writer.endField(mark);
    return jsonOf(writer.tape, writer.endRecord());
  });
}

/** The JSON of the field `inputs` in a tape's last record, which is `length` bytes long. */
function jsonOf({ memory, usedBytes }: Tape, length: number): string {
  const reader = new TapeReader(memory, usedBytes, usedBytes - length);
  const out = new JsonWriter(Buffer.alloc(16));
  const start = reader.findFieldStart(0, field.inputs);
  const end = out.writeValue(reader.bytes, reader.view, start);
  if (end !== start + reader.findFieldLength(0, field.inputs)) {
    throw new RangeError(`The value ends at ${end}, but its field ends at another offset`);
  }
  const text = out.bytes.toString("utf8", 0, out.length);
  const moduleJson = new JsonWriter(Buffer.alloc(16));
  if (wasm?.begin(moduleJson, reader, [{ records: [0] }]) !== true) {
    return text;
  }
  wasm.writeValue(start);
  wasm.end();
  if (moduleJson.bytes.toString("utf8", 0, moduleJson.length) !== text) {
    throw new RangeError("The WebAssembly module writes different JSON");
  }
  return text;
}
