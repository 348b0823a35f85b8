import { planRedaction } from "../../src/model/options/redaction.ts";
import type { RedactionPlan } from "../../src/model/options/redaction-search.ts";
import type { RedactionRule } from "../../src/model/options/redaction.ts";
import { field } from "../../src/model/records/tape-format.ts";
import { Tape } from "../../src/tracing/tape/tape.ts";
import { TapeWriter } from "../../src/tracing/tape/tape-writer.ts";
import { ValueWriter } from "../../src/tracing/tape/value-writer.ts";
import { JsonWriter } from "../../src/workers/json/json-writer.ts";
import { Redactor } from "../../src/workers/redaction/redactor.ts";
import { TapeReader } from "../../src/workers/json/tape-reader.ts";

export function planOf(rules: readonly RedactionRule[], apiKey?: string): RedactionPlan {
  const plan = planRedaction(rules, apiKey);
  if (plan === undefined) {
    throw new RangeError("No rules");
  }
  return plan;
}

export function tapeOf(value: unknown): Tape {
  const writer = new TapeWriter(new Tape(65_536), (atLeast) => new Tape(atLeast * 2));
  writer.beginRecord("post");
  const mark = writer.beginField(field.inputs);
  new ValueWriter(writer).write(value);
  writer.endField(mark);
  writer.endRecord();
  return writer.tape;
}

export const bytesOf = (tape: Tape): Buffer => tape.bytes.subarray(0, tape.usedBytes);

export function jsonOf({ memory, usedBytes }: Tape): unknown {
  const reader = new TapeReader(memory, usedBytes);
  const out = new JsonWriter(Buffer.alloc(16));
  out.writeValue(reader.bytes, reader.view, reader.findFieldStart(0, field.inputs));
  return JSON.parse(out.bytes.toString("utf8", 0, out.length));
}

export function redacted(
  value: unknown,
  rules: readonly RedactionRule[],
  apiKey?: string,
): unknown {
  const tape = tapeOf(value);
  new Redactor(planOf(rules, apiKey)).redact(bytesOf(tape));
  return jsonOf(tape);
}
