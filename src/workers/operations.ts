import type { Operation } from "../model/run.ts";
import { field } from "../model/tape-format.ts";
import type { TapeReader } from "./tape-reader.ts";

/** What is sent of one run: its start, its end, or both joined. */
export interface RunOperation {
  readonly id: string;
  readonly operation: Operation;
  /** The records it is made of, the latest first: a field is taken from the first that has it. */
  readonly records: readonly number[];
  /** Whether it can go into a batch; one without a place in a trace goes alone. */
  readonly batchable: boolean;
}

/**
 * Joins the records of a run that wait together: a start and its ends become one post, several ends
 * one patch. Posts come first, as the wire wants them (`spec/wire.md`).
 */
export function joinRecords(reader: TapeReader): readonly RunOperation[] {
  const byRun = new Map<string, number[]>();
  for (let record = 0; record < reader.count; record++) {
    const id = reader.runId(record);
    const records = byRun.get(id);
    if (records === undefined) {
      byRun.set(id, [record]);
    } else {
      records.push(record);
    }
  }
  const posts: RunOperation[] = [];
  const patches: RunOperation[] = [];
  for (const [id, records] of byRun) {
    const starts = records.filter((record) => reader.operation(record) === "post");
    const ends = records.filter((record) => reader.operation(record) === "patch");
    const batchable = records.every((record) => reader.hasDottedOrder(record));
    if (starts.length === 0) {
      patches.push({ id, operation: "patch", records: ends.reverse(), batchable });
    } else {
      posts.push({ id, operation: "post", records: [...ends.reverse(), ...starts], batchable });
    }
  }
  return [...posts, ...patches];
}

/** The record to take a field from; -1 where none has it. */
export function recordWith(reader: TapeReader, operation: RunOperation, code: number): number {
  for (const record of operation.records) {
    if (reader.start(record, code) !== 0) {
      return record;
    }
  }
  return -1;
}

/** Bytes of all its records' contents: about the bytes of its JSON. */
export function sizeOf(reader: TapeReader, operation: RunOperation): number {
  let size = 0;
  for (const record of operation.records) {
    for (let code = 1; code <= field.other; code++) {
      size += reader.length(record, code);
    }
  }
  return size;
}
