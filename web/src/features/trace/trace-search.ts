import { isId } from "../../api/parse.ts";
import { payloadModes } from "../../components/payload/payload-mode.ts";
import type { PayloadMode } from "../../components/payload/payload-mode.ts";

export const traceTabs = [
  "data",
  "events",
  "metadata",
  "feedback",
  "comments",
  "files",
  "timing",
  "diff",
  "code",
] as const;
export type TraceTab = (typeof traceTabs)[number];

/**
 * The value of `vs` that compares the selected run with the reference outputs of its example instead of another run.
 */
export const referenceName = "reference";

/** The state of an open trace, which is stored in the search parameters of the URL. */
export interface TraceSearch {
  /** The selected tab of the run panel. @defaultValue data */
  readonly panel?: TraceTab;
  /** How inputs and outputs are displayed. @defaultValue the format that suits the value */
  readonly as?: PayloadMode;
  /** The text searched for in the trace. */
  readonly find?: string;
  /** Run types whose runs are collapsed, comma-separated. */
  readonly close?: string;
  /** Run types whose runs are hidden, comma-separated. */
  readonly hide?: string;
  /** Present when only failed runs and their ancestors are shown. */
  readonly errors?: true;
  /** Present when the critical path is shown. */
  readonly path?: true;
  /** The id of the run that the selected run is compared with, or {@link referenceName}. */
  readonly vs?: string;
  /** The visible time window, in microseconds since the trace's first start: `from-to`. */
  readonly zoom?: string;
}

const maxTextLength = 200;

/** Parses the search parameters of the URL. Invalid values are left out. */
export function parseTraceSearch(search: Readonly<Record<string, unknown>>): TraceSearch {
  const { panel, as, find, close, hide, errors, path, vs, zoom } = search;
  return {
    ...(isOneOf(traceTabs, panel) && panel !== "data" ? { panel } : {}),
    ...(isOneOf(payloadModes, as) ? { as } : {}),
    ...parseText("find", find),
    ...parseText("close", close),
    ...parseText("hide", hide),
    ...(errors === true ? { errors } : {}),
    ...(path === true ? { path } : {}),
    ...(isId(vs) || vs === referenceName ? { vs } : {}),
    ...(typeof zoom === "string" && /^\d{1,15}-\d{1,15}$/.test(zoom) ? { zoom } : {}),
  };
}

/** Splits a comma-separated list into a set. */
export const splitList = (text: string | undefined): ReadonlySet<string> =>
  new Set(text === undefined || text === "" ? [] : text.split(","));

/** The inverse of {@link splitList}; `undefined` for an empty set. */
export const joinList = (items: ReadonlySet<string>): string | undefined =>
  items.size === 0 ? undefined : [...items].join(",");

const isOneOf = <Name extends string>(names: readonly Name[], value: unknown): value is Name =>
  names.some((name) => name === value);

/** Parses a text parameter. A number is accepted too, because the router parses `find=7` as a number. */
function parseText(name: "find" | "close" | "hide", value: unknown): TraceSearch {
  const text = typeof value === "number" ? String(value) : value;
  return typeof text === "string" && text !== "" ? { [name]: text.slice(0, maxTextLength) } : {};
}
