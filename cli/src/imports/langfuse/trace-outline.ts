import type { KeyValues } from "millrace/model";
import { toText, toTime } from "../model/json-values.ts";

/** Maximum number of observations of one trace. Their ids and times are kept in memory while the trace is imported. */
export const maxObservations = 500_000;
/** Maximum depth of a run below the root of its trace. */
const maxDepth = 1_000;
/** Maximum number of ancestors that are followed from an observation. Only damaged data is nested so deeply. */
const maxAncestors = 10_000;

/** The members of an observation that determine its position in the tree. */
interface Outline {
  readonly parentId: string | undefined;
  readonly startMicros: number;
}

/**
 * The tree of a trace's observations, reduced to ids, parents and start times, with the time when the last observation
 * ended.
 */
export class TraceOutline {
  readonly #outlines = new Map<string, Outline>();
  endTime: string | undefined;
  /** The earliest observation that names no parent. */
  root: KeyValues | undefined;
  isTooLarge = false;

  add(observation: KeyValues): void {
    const [id, start] = [toText(observation["id"]), toTime(observation["startTime"])];
    if (id === undefined || start === undefined || this.isTooLarge) {
      return;
    }
    this.isTooLarge = this.#outlines.size >= maxObservations;
    const parentId = toText(observation["parentObservationId"]);
    this.#outlines.set(id, { parentId, startMicros: toMicros(start) });
    const end = toTime(observation["endTime"]) ?? start;
    if (this.endTime === undefined || toMicros(end) > toMicros(this.endTime)) {
      this.endTime = end;
    }
    const rootStart = toTime(this.root?.["startTime"]);
    if (
      parentId === undefined &&
      (rootStart === undefined || toMicros(start) < toMicros(rootStart))
    ) {
      this.root = observation;
    }
  }

  /**
   * Start of the earliest observation, in microseconds since the Unix epoch; `undefined` if there are no observations.
   */
  get firstMicros(): number | undefined {
    let earliestMicros: number | undefined;
    for (const { startMicros } of this.#outlines.values()) {
      earliestMicros = Math.min(earliestMicros ?? startMicros, startMicros);
    }
    return earliestMicros;
  }

  /**
   * Returns the observations from the top of the trace down to the given one; an empty list if it is unknown. An
   * observation is at the top if its parent is missing or it is part of a cycle. An observation that is nested too
   * deeply becomes a child of the deepest allowed ancestor.
   */
  readAncestry(id: string): readonly { readonly id: string; readonly startMicros: number }[] {
    const upward = new Map<string, Outline>();
    let next: string | undefined = id;
    while (next !== undefined && upward.size < maxAncestors && !upward.has(next)) {
      const outline = this.#outlines.get(next);
      if (outline === undefined) {
        break;
      }
      upward.set(next, outline);
      next = outline.parentId;
    }
    const observations = [...upward].map(([key, { startMicros }]) => ({ id: key, startMicros }));
    const cycleStart = next === undefined ? -1 : [...upward.keys()].indexOf(next);
    const path = (
      cycleStart < 0 ? observations : observations.slice(0, cycleStart + 1)
    ).toReversed();
    return path.length <= maxDepth ? path : [...path.slice(0, maxDepth - 1), ...path.slice(-1)];
  }
}

/** Converts a time to microseconds since the Unix epoch. */
export function toMicros(time: string): number {
  const [, digits = ""] = /\.(\d+)/.exec(time) ?? [];
  return Date.parse(time) * 1_000 + Number(digits.slice(3, 6).padEnd(3, "0"));
}
