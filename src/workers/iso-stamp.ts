import { stampLength } from "../model/dotted-order.ts";
import type { JsonWriter } from "./json-writer.ts";

const quote = 0x22;
const dash = 0x2d;
const dot = 0x2e;
const colon = 0x3a;

/** Appends the stamp at `at`, `20261121T101112345678Z`, as quoted ISO 8601. */
export function isoStamp(out: JsonWriter, source: DataView, at: number): void {
  out.byte(quote);
  out.raw(source, at, at + 4);
  out.byte(dash);
  out.raw(source, at + 4, at + 6);
  out.byte(dash);
  // The day and the T.
  out.raw(source, at + 6, at + 11);
  out.byte(colon);
  out.raw(source, at + 11, at + 13);
  out.byte(colon);
  out.raw(source, at + 13, at + 15);
  out.byte(dot);
  out.raw(source, at + 15, at + stampLength);
  out.byte(quote);
}
