import { types } from "node:util";
import { isPlainObject } from "./payload.ts";
import { microsToStamp, stampToIso } from "../../model/dotted-order.ts";
import type { RunEvent } from "../../model/run.ts";
import { clock } from "../../model/clock.ts";
import type { Recorder } from "./recorder.ts";

/** Levels that are copied; what lies deeper is kept as it is. It also ends the walk of a cycle. */
const depthLimit = 32;
/** Values that are copied; a graph whose parts meet again can hold more paths than there is time for. */
const valueLimit = 100_000;

/**
 * A copy of plain objects, arrays, Maps, Sets, Dates and binary data, so that a later change of them is
 * not recorded. Objects of other kinds, and what has a `toJSON`, are kept as they are and read when the
 * run ends.
 */
export const snapshotOf = (value: unknown): unknown => new Copier().copy(value, 0);

/** The copy of an object's own values; `undefined` where one of them can't be read. */
function snapshotOfEntries<Entries extends object>(value: Entries): Entries | undefined {
  try {
    return new Copier().entries(value, 0) as Entries;
  } catch {
    // A getter or a proxy threw. The caller reports and counts it.
    return undefined;
  }
}

class Copier {
  #values = 0;

  copy(value: unknown, depth: number): unknown {
    this.#values += 1;
    if (typeof value !== "object" || value === null) {
      return value;
    }
    if (depth >= depthLimit || this.#values > valueLimit) {
      return value;
    }
    if (Array.isArray(value)) {
      return value.map((item: unknown) => this.copy(item, depth + 1));
    }
    if (isPlainObject(value)) {
      return typeof value["toJSON"] === "function" ? value : this.entries(value, depth + 1);
    }
    return this.#other(value, depth);
  }

  entries(value: object, depth: number): Record<string, unknown> {
    return Object.fromEntries(
      Object.entries(value).map(([key, item]: [string, unknown]) => [key, this.copy(item, depth)]),
    );
  }

  #other(value: object, depth: number): unknown {
    if (types.isDate(value)) {
      return new Date(Date.prototype.getTime.call(value));
    }
    if (types.isMap(value)) {
      const entries = [...Map.prototype.entries.call(value)];
      return new Map(entries.map(([key, item]) => [key, this.copy(item, depth + 1)]));
    }
    if (types.isSet(value)) {
      const items = [...Set.prototype.values.call(value)];
      return new Set(items.map((item) => this.copy(item, depth + 1)));
    }
    if (Buffer.isBuffer(value)) {
      return Buffer.from(value);
    }
    return types.isTypedArray(value) ? value.slice() : value;
  }
}

/** A copy of what a caller adds to an open run. What can't be read is reported and left out. */
export function ownCopy<Entries extends object>(
  value: Entries,
  recording: Recorder,
): Entries | undefined {
  const copy = snapshotOfEntries(value);
  if (copy === undefined) {
    recording.warn("hiddenFailure", "What can't be read was left out of a run.");
  }
  return copy;
}

/** The same of an event, with the time of the call where it has none. */
export function ownEvent(event: RunEvent, recording: Recorder): RunEvent | undefined {
  const copy = ownCopy(event, recording);
  return copy && { ...copy, time: copy.time ?? stampToIso(microsToStamp(clock())) };
}
