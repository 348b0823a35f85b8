// Writes one run of a tape as JSON. The result is the same, byte for byte, as that of
// src/workers/json/run-list.ts, which is used where this module can't run.
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
  margin,
  clearFields,
  discard,
  fields,
  fillTables,
  flushAll,
  setPosition,
  heads,
  recordsLimit,
  ensureCapacity,
  runtime,
  runtimeLimit,
  secondText,
  position,
} from "./memory";
import { writeDigitsBefore } from "./number";
import { writeByte, writeLiteral, copyBytes, writeUnescaped } from "./text";
import { writeValue } from "./value";

/** Writes seconds since the Unix epoch as `2026-11-21T10:11:12` to the address `at`. */
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
export const marginBytes = margin;

/**
 * Begins a new output and drops what was not flushed. The runtime facts are at `runtimeAt` and have
 * `runtimeBytes` bytes.
 */
export function begin(runtimeBytes: usize): void {
  runtimeSize = runtimeBytes;
  discard();
}

/** Flushes the output. */
export function flushed(): void {
  flushAll();
}

/** Writes the value at `at`. */
export function valueAt(at: usize): void {
  writeValue(at);
}

/** Writes a run. The heads of its records are at `headsAt`, the latest record first. */
export function run(records: usize, isPost: bool, isNext: bool): void {
  const extraCode = indexFields(records);
  ensureCapacity(0);
  if (isNext) {
    writeByte(0x2c);
  }
  writeLiteral('{"id":"');
  const dotted = fieldStart(field.dottedOrder);
  if (dotted === 0) {
    copyBytes(fieldStart(field.id), uuidLength);
    writeByte(quote);
    writeKeyed(field.parentRunId, ',"parent_run_id":');
    writeKeyed(field.startTime, ',"start_time":');
  } else {
    writeAncestry(dotted, isPost);
  }
  writeEndTime();
  writeKeyed(field.name, ',"name":');
  writeKeyed(field.runType, ',"run_type":');
  writeKeyed(field.project, ',"session_name":');
  writeKeyed(field.projectId, ',"session_id":');
  writeKeyed(field.tags, ',"tags":');
  writeKeyed(field.referenceExampleId, ',"reference_example_id":');
  writeKeyed(field.inputs, ',"inputs":');
  writeKeyed(field.outputs, ',"outputs":');
  writeKeyed(field.events, ',"events":');
  writeKeyed(field.error, ',"error":');
  if (extraCode !== 0) {
    writeExtra(extraCode);
  }
  writeKeyed(field.serialized, ',"serialized":');
  ensureCapacity(0);
  writeByte(closeBrace);
}

/**
 * Finds the fields of all records; of several records with a field, the latest is used. Returns the
 * field code of the run's `extra`, or 0.
 */
function indexFields(records: usize): usize {
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

/** Address of a field's content; 0 if the run has no such field. */
function fieldStart(code: usize): usize {
  return load<u32>(fields + 4 * code);
}

function writeKeyed(code: usize, key: string): void {
  const at = fieldStart(code);
  if (at !== 0) {
    writeLiteral(key);
    writeValue(at);
  }
}

/** Writes the ids, the dotted order and the start time, all read from the dotted order. */
function writeAncestry(dotted: usize, isPost: bool): void {
  const size: usize = load<u32>(dotted - 4);
  const ownId = dotted + size - uuidLength;
  copyBytes(ownId, uuidLength);
  writeLiteral('","trace_id":"');
  copyBytes(dotted + stampLength, uuidLength);
  writeLiteral('","dotted_order":"');
  writeUnescaped(dotted, size);
  if (size > stampLength + uuidLength + 1) {
    writeLiteral('","parent_run_id":"');
    copyBytes(ownId - stampLength - 1 - uuidLength, uuidLength);
  }
  writeByte(quote);
  if (fieldStart(field.startTime) !== 0) {
    writeKeyed(field.startTime, ',"start_time":');
  } else if (isPost) {
    writeLiteral(',"start_time":"');
    writeIsoTimestamp(ownId - stampLength);
  }
}

/**
 * Writes the timestamp at `at`, such as `20261121T101112345678Z`, as ISO 8601 with a closing quote.
 */
function writeIsoTimestamp(at: usize): void {
  store<u32>(position, load<u32>(at));
  store<u8>(position + 4, 0x2d);
  store<u16>(position + 5, load<u16>(at + 4));
  store<u8>(position + 7, 0x2d);
  // The day, the letter T, and the hour.
  store<u16>(position + 8, load<u16>(at + 6));
  store<u8>(position + 10, load<u8>(at + 8));
  store<u16>(position + 11, load<u16>(at + 9));
  store<u8>(position + 13, 0x3a);
  store<u16>(position + 14, load<u16>(at + 11));
  store<u8>(position + 16, 0x3a);
  store<u16>(position + 17, load<u16>(at + 13));
  store<u8>(position + 19, 0x2e);
  store<u64>(position + 20, load<u64>(at + 15));
  setPosition(position + 27);
  writeByte(quote);
}

function writeEndTime(): void {
  const at = fieldStart(field.endMicros);
  if (at === 0) {
    writeKeyed(field.endTime, ',"end_time":');
    return;
  }
  const micros = load<f64>(at);
  const seconds = floor(micros / microsPerSecond);
  if (seconds !== lastSecond) {
    second(seconds, secondText);
    lastSecond = seconds;
  }
  writeLiteral(',"end_time":"');
  copyBytes(secondText, secondLength);
  writeByte(0x2e);
  setPosition(position + microsDigits);
  writeDigitsBefore(position, <u64>(micros - seconds * microsPerSecond), microsDigits);
  writeByte(0x5a);
  writeByte(quote);
}

function writeExtra(code: usize): void {
  const at = fieldStart(code);
  const tagByte = load<u8>(at);
  const isMetadata = code === field.metadata;
  writeLiteral(',"extra":');
  if (isMetadata) {
    writeLiteral('{"metadata":');
  }
  writeValue(at);
  if (isMetadata) {
    writeLiteral(",");
  } else if (code === field.extra && tagByte === tag.object) {
    // Overwrites the closing brace, which is the last byte of the output: nothing was flushed after
    // it.
    setPosition(position - 1);
    if (load<u8>(at + 1) !== tag.end) {
      writeLiteral(",");
    }
  } else {
    return;
  }
  writeLiteral('"runtime":');
  writeUnescaped(runtime, runtimeSize);
  writeByte(closeBrace);
}
