import { isId } from "../../api/parse.ts";
import { payloadModes } from "../../components/payload/payload-source.ts";
import type { PayloadMode } from "../../components/payload/payload-source.ts";

export const traceTabs = [
  "data",
  "events",
  "metadata",
  "feedback",
  "files",
  "timing",
  "diff",
  "code",
] as const;
export type TraceTab = (typeof traceTabs)[number];

/** The state of an open trace in the address. */
export interface TraceSearch {
  /** What of the selected run shows. @defaultValue data */
  readonly panel?: TraceTab;
  /** How inputs and outputs show. @defaultValue what suits them */
  readonly as?: PayloadMode;
  /** Words searched for in the trace. */
  readonly find?: string;
  /** Types whose runs are closed, joined by commas. */
  readonly close?: string;
  /** Types whose runs do not show, joined by commas. */
  readonly hide?: string;
  /** Whether only failed runs and those above them show. */
  readonly errors?: true;
  /** Whether the critical path shows. */
  readonly path?: true;
  /** The run that the selected one is compared with. */
  readonly vs?: string;
  /** The time that shows, microseconds from the trace's first start: `from-to`. */
  readonly zoom?: string;
}

const textChars = 200;

/** Reads the query of an address; what has no meaning is left out. */
export function parseTraceSearch(search: Readonly<Record<string, unknown>>): TraceSearch {
  const { panel, as, find, close, hide, errors, path, vs, zoom } = search;
  return {
    ...(isOneOf(traceTabs, panel) && panel !== "data" ? { panel } : {}),
    ...(isOneOf(payloadModes, as) ? { as } : {}),
    ...textOf("find", find),
    ...textOf("close", close),
    ...textOf("hide", hide),
    ...(errors === true ? { errors } : {}),
    ...(path === true ? { path } : {}),
    ...(isId(vs) ? { vs } : {}),
    ...(typeof zoom === "string" && /^\d{1,15}-\d{1,15}$/.test(zoom) ? { zoom } : {}),
  };
}

/** Words joined by commas, as a set. */
export const toWords = (text: string | undefined): ReadonlySet<string> =>
  new Set(text === undefined || text === "" ? [] : text.split(","));

/** The inverse; `undefined` where it has no counterpart. */
export const fromWords = (words: ReadonlySet<string>): string | undefined =>
  words.size === 0 ? undefined : [...words].join(",");

const isOneOf = <Word extends string>(words: readonly Word[], value: unknown): value is Word =>
  words.some((word) => word === value);

/** A router reads `7` as a number: it was typed as a text. */
function textOf(name: "find" | "close" | "hide", value: unknown): TraceSearch {
  const text = typeof value === "number" ? String(value) : value;
  return typeof text === "string" && text !== "" ? { [name]: text.slice(0, textChars) } : {};
}
