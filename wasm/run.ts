// One run of a tape as JSON: what src/workers/json/run-list.ts writes where this module can't run, byte for byte.
import {
  field,
  fieldCodes,
  fieldHead,
  headOffset,
  recordHead,
  stampLength,
  tag,
  uuidLength,
} from "./layout";
import {
  beyond,
  clearFields,
  discard,
  fields,
  fillTables,
  flushAll,
  goTo,
  heads,
  recordsLimit,
  room,
  runtime,
  runtimeLimit,
  secondText,
  to,
} from "./memory";
import { byte, literal, raw, rawLong } from "./text";
import { digitsBefore, value } from "./value";

/** Writes `2026-11-21T10:11:12`, of seconds since the Unix epoch, to `at`. */
declare function second(seconds: f64, at: usize): void;

const quote: u8 = 0x22;
const closeBrace: u8 = 0x7d;
const microsPerSecond: f64 = 1_000_000;
const secondLength: usize = 19;
const microsDigits: usize = 6;

let runtimeSize: usize = 0;
let lastSecond: f64 = NaN;

fillTables();

export const headsAt = heads;
export const runtimeAt = runtime;
export const mostRecords = recordsLimit;
export const mostRuntime = runtimeLimit;
export const tapeAt: usize = (__heap_base + 15) & ~15;
export const marginBytes = beyond;

/** The facts stand at `runtimeAt`, so many bytes. Begins anew, whatever was not flushed. */
export function begin(runtimeBytes: usize): void {
  runtimeSize = runtimeBytes;
  discard();
}

export function flushed(): void {
  flushAll();
}

/** Writes the value at `at`. */
export function valueAt(at: usize): void {
  value(at);
}

/** Writes a run; the heads of its records stand at `headsAt`, the latest first. */
export function run(records: usize, isPost: bool, isNext: bool): void {
  const extraCode = join(records);
  room(0);
  if (isNext) {
    byte(0x2c);
  }
  literal('{"id":"');
  const dotted = start(field.dottedOrder);
  if (dotted === 0) {
    raw(start(field.id), uuidLength);
    byte(quote);
    keyed(field.parentRunId, ',"parent_run_id":');
    keyed(field.startTime, ',"start_time":');
  } else {
    place(dotted, isPost);
  }
  endTime();
  keyed(field.name, ',"name":');
  keyed(field.runType, ',"run_type":');
  keyed(field.project, ',"session_name":');
  keyed(field.projectId, ',"session_id":');
  keyed(field.tags, ',"tags":');
  keyed(field.referenceExampleId, ',"reference_example_id":');
  keyed(field.inputs, ',"inputs":');
  keyed(field.outputs, ',"outputs":');
  keyed(field.events, ',"events":');
  keyed(field.error, ',"error":');
  if (extraCode !== 0) {
    extra(extraCode);
  }
  keyed(field.serialized, ',"serialized":');
  room(0);
  byte(closeBrace);
}

/** Looks up all fields of the records, of each the latest; returns under which code there is an `extra`. */
function join(records: usize): usize {
  let extraCode: usize = 0;
  clearFields();
  for (let i = records; i > 0; i--) {
    const head: usize = load<u32>(heads + 4 * (i - 1));
    const end = head + load<u32>(head + headOffset.length);
    let found: usize = 0;
    for (let at = head + recordHead; at < end;) {
      const code: usize = load<u8>(at);
      if (code < fieldCodes) {
        store<u32>(fields + 4 * code, <u32>(at + fieldHead));
        if (code >= field.metadata && (found === 0 || code < found)) {
          found = code;
        }
      }
      at += fieldHead + load<u32>(at + 1);
    }
    extraCode = found === 0 ? extraCode : found;
  }
  return extraCode;
}

/** Where a field's content begins; 0 where the run has no such field. */
function start(code: usize): usize {
  return load<u32>(fields + 4 * code);
}

function keyed(code: usize, key: string): void {
  const at = start(code);
  if (at !== 0) {
    literal(key);
    value(at);
  }
}

/** Ids and dotted order, all read from the dotted order, and the start, which is in it too. */
function place(dotted: usize, isPost: bool): void {
  const size: usize = load<u32>(dotted - 4);
  const own = dotted + size - uuidLength;
  raw(own, uuidLength);
  literal('","trace_id":"');
  raw(dotted + stampLength, uuidLength);
  literal('","dotted_order":"');
  rawLong(dotted, size);
  if (size > stampLength + uuidLength + 1) {
    literal('","parent_run_id":"');
    raw(own - stampLength - 1 - uuidLength, uuidLength);
  }
  byte(quote);
  if (start(field.startTime) !== 0) {
    keyed(field.startTime, ',"start_time":');
  } else if (isPost) {
    literal(',"start_time":"');
    isoStamp(own - stampLength);
  }
}

/** The stamp at `at`, `20261121T101112345678Z`, as ISO 8601, and a quote. */
function isoStamp(at: usize): void {
  store<u32>(to, load<u32>(at));
  store<u8>(to + 4, 0x2d);
  store<u16>(to + 5, load<u16>(at + 4));
  store<u8>(to + 7, 0x2d);
  // The day and the T, and the hour.
  store<u16>(to + 8, load<u16>(at + 6));
  store<u8>(to + 10, load<u8>(at + 8));
  store<u16>(to + 11, load<u16>(at + 9));
  store<u8>(to + 13, 0x3a);
  store<u16>(to + 14, load<u16>(at + 11));
  store<u8>(to + 16, 0x3a);
  store<u16>(to + 17, load<u16>(at + 13));
  store<u8>(to + 19, 0x2e);
  store<u64>(to + 20, load<u64>(at + 15));
  goTo(to + 27);
  byte(quote);
}

function endTime(): void {
  const at = start(field.endMicros);
  if (at === 0) {
    keyed(field.endTime, ',"end_time":');
    return;
  }
  const micros = load<f64>(at);
  const seconds = floor(micros / microsPerSecond);
  if (seconds !== lastSecond) {
    second(seconds, secondText);
    lastSecond = seconds;
  }
  literal(',"end_time":"');
  raw(secondText, secondLength);
  byte(0x2e);
  goTo(to + microsDigits);
  digitsBefore(to, <u64>(micros - seconds * microsPerSecond), microsDigits);
  byte(0x5a);
  byte(quote);
}

function extra(code: usize): void {
  const at = start(code);
  const kind = load<u8>(at);
  const isMetadata = code === field.metadata;
  literal(',"extra":');
  if (isMetadata) {
    literal('{"metadata":');
  }
  value(at);
  if (isMetadata) {
    literal(",");
  } else if (code === field.extra && kind === tag.object) {
    // The brace before is the last byte: none asks for room behind it.
    goTo(to - 1);
    if (load<u8>(at + 1) !== tag.end) {
      literal(",");
    }
  } else {
    return;
  }
  literal('"runtime":');
  rawLong(runtime, runtimeSize);
  byte(closeBrace);
}
