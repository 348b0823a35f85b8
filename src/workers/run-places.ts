import { uuidLength } from "../model/dotted-order.ts";
import type { TapeReader } from "./tape-reader.ts";

const wordBytes = 4;
/** Places for each record, at least: few find theirs taken. */
const roominess = 2;
const nobody = -1;

/** Finds the records of one run by its id as it lies on the tape: no text is made of it. */
export class RunPlaces {
  readonly #reader: TapeReader;
  /** By place: the run that has it, and where its id is. */
  readonly #runs: Int32Array;
  readonly #idsAt: Int32Array;

  constructor(reader: TapeReader) {
    const size = 2 ** Math.ceil(Math.log2(roominess * reader.count + 1));
    this.#reader = reader;
    this.#runs = new Int32Array(size).fill(nobody);
    this.#idsAt = new Int32Array(size);
  }

  /** The run that the record is of; `next`, from now on, where it is the first of its run. */
  find(record: number, next: number): number {
    const { view } = this.#reader;
    const at = this.#reader.idStart(record);
    const last = this.#runs.length - 1;
    for (let place = hashAt(view, at) & last; ; place = (place + 1) & last) {
      const run = this.#runs[place] ?? nobody;
      if (run === nobody) {
        this.#runs[place] = next;
        this.#idsAt[place] = at;
        return next;
      }
      if (isSameId(view, at, this.#idsAt[place] ?? 0)) {
        return run;
      }
    }
  }
}

/** Of all of an id's bytes: which of them differ from run to run depends on who makes the ids. */
function hashAt(view: DataView, start: number): number {
  let hash = 0;
  for (let at = start; at < start + uuidLength; at += wordBytes) {
    hash = Math.imul(hash ^ view.getInt32(at, true), 0x9e3779b1);
    hash ^= hash >>> 15;
  }
  return hash;
}

function isSameId(view: DataView, one: number, other: number): boolean {
  for (let i = 0; i < uuidLength; i += wordBytes) {
    if (view.getInt32(one + i, true) !== view.getInt32(other + i, true)) {
      return false;
    }
  }
  return true;
}
