import type { KeyValues } from "millrace/model";
import { toText, toTime } from "../model/json-values.ts";

/** Largest number of observations of one trace. Their ids and times are in memory while the trace is imported. */
export const maxObservations = 500_000;
/** Largest depth of a run below its trace. */
const maxDepth = 1_000;
/** Maximum number of parents that are followed upward. Only wrong data is nested as deeply as this. */
const maxWalk = 10_000;

/** The members of an observation that determine its position in the tree. */
interface Outline {
  readonly parentId: string | undefined;
  readonly startMicros: number;
}

/** The positions of the observations of a trace in its tree, and the time when the last one ended. */
export class TraceOutline {
  readonly #outlines = new Map<string, Outline>();
  endTime: string | undefined;
  /** The observation that began first, of those without a parent in the trace. */
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

  /** The start of the first observation. */
  get firstMicros(): number | undefined {
    let first: number | undefined;
    for (const { startMicros } of this.#outlines.values()) {
      first = Math.min(first ?? startMicros, startMicros);
    }
    return first;
  }

  /**
   * Returns the observations from the top of the trace down to this one; an empty list if the observation is unknown. An
   * observation is at the top if its parent is missing or if it is part of a cycle. One that is nested too deeply becomes
   * a child of the deepest observation that is allowed.
   */
  readAncestry(id: string): readonly { readonly id: string; readonly startMicros: number }[] {
    const upward = new Map<string, Outline>();
    let next: string | undefined = id;
    while (next !== undefined && upward.size < maxWalk && !upward.has(next)) {
      const outline = this.#outlines.get(next);
      if (outline === undefined) {
        break;
      }
      upward.set(next, outline);
      next = outline.parentId;
    }
    const all = [...upward].map(([key, { startMicros }]) => ({ id: key, startMicros }));
    const cycleStart = next === undefined ? -1 : [...upward.keys()].indexOf(next);
    const path = (cycleStart < 0 ? all : all.slice(0, cycleStart + 1)).toReversed();
    return path.length <= maxDepth ? path : [...path.slice(0, maxDepth - 1), ...path.slice(-1)];
  }
}

/** Converts a time to microseconds since the Unix epoch. */
export function toMicros(time: string): number {
  const [, digits = ""] = /\.(\d+)/.exec(time) ?? [];
  return Date.parse(time) * 1_000 + Number(digits.slice(3, 6).padEnd(3, "0"));
}
