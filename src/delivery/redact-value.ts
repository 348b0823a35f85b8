import type { RedactionPlan } from "../model/options/redaction-search.ts";
import { field } from "../model/records/tape-format.ts";
import { Tape } from "../tracing/tape/tape.ts";
import { TapeWriter } from "../tracing/tape/tape-writer.ts";
import { ValueWriter } from "../tracing/tape/value-writer.ts";

const tapeBytes = 65_536;

/**
 * Returns a copy of a value in which the matches of redaction rules are masked; the copy was converted to JSON and
 * back. The value is written to a tape and read again, so that the rules have the same effect as on a run. The code of
 * the workers that applies the rules is loaded only when it is needed.
 */
export async function redactValue(value: unknown, plan: RedactionPlan): Promise<unknown> {
  const [{ Redactor }, { TapeReader }, { JsonWriter }] = await Promise.all([
    import("../workers/redaction/redactor.ts"),
    import("../workers/json/tape-reader.ts"),
    import("../workers/json/json-writer.ts"),
  ]);
  const writer = new TapeWriter(new Tape(tapeBytes), (minBytes) => new Tape(minBytes * 2));
  writer.beginRecord("post");
  const fieldStart = writer.beginField(field.inputs);
  new ValueWriter(writer).write(value);
  writer.endField(fieldStart);
  writer.endRecord();
  const { tape } = writer;
  new Redactor(plan).redact(tape.bytes.subarray(0, tape.usedBytes));
  const reader = new TapeReader(tape.memory, tape.usedBytes);
  const out = new JsonWriter(Buffer.alloc(tapeBytes));
  out.writeValue(reader.bytes, reader.view, reader.findFieldStart(0, field.inputs));
  return JSON.parse(out.bytes.toString("utf8", 0, out.length));
}
