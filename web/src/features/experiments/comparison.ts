import { requireItems, requireText, toItems, toNumber, toRecord, toText } from "../../api/parse.ts";
import { parsePreview } from "../datasets/examples/example.ts";
import type { ExamplePreview, TextPreview } from "../datasets/examples/example.ts";

type Scores = Readonly<Record<string, number>>;

/** One run of an experiment on an example, as a list shows it. */
export interface ComparedRun {
  readonly id: string;
  readonly traceId: string;
  readonly hasError: boolean;
  readonly latencyMs: number | undefined;
  readonly tokens: number | undefined;
  readonly outputs: TextPreview | undefined;
  readonly error: TextPreview | undefined;
  readonly scores: Scores;
}

/** One example, with what each experiment made of it. */
export interface ComparedRow {
  readonly exampleId: string;
  /** Absent where the example was deleted since. */
  readonly example: ExamplePreview | undefined;
  /** By experiment: means over its runs. */
  readonly scores: Readonly<Record<string, Scores>>;
  readonly runs: Readonly<Record<string, readonly ComparedRun[]>>;
}

export interface KeySummary {
  readonly mean: number | undefined;
  readonly count: number;
  readonly better: number;
  readonly worse: number;
  readonly same: number;
  readonly bins: readonly number[];
}

export interface ComparedKey {
  readonly key: string;
  readonly min: number;
  readonly max: number;
  readonly experiments: Readonly<Record<string, KeySummary>>;
}

export interface ExperimentTotals {
  readonly id: string;
  readonly exampleCount: number;
  readonly runCount: number;
  readonly errorCount: number;
  readonly latencyMs: number | undefined;
}

export interface ComparisonPage {
  readonly total: number;
  readonly matching: number;
  readonly experiments: readonly ExperimentTotals[];
  readonly keys: readonly ComparedKey[];
  readonly rows: readonly ComparedRow[];
}

/** @throws TypeError the server answered something else. */
export function parseComparison(value: unknown): ComparisonPage {
  const { total, matching, experiments, keys, rows } = toRecord(value);
  return {
    total: toNumber(total) ?? 0,
    matching: toNumber(matching) ?? 0,
    experiments: toItems(experiments).map(parseTotals),
    keys: toItems(keys).map(parseKey),
    rows: requireItems(rows, "examples").map(parseRow),
  };
}

function parseTotals(value: unknown): ExperimentTotals {
  const members = toRecord(value);
  return {
    id: requireText(members, "id"),
    exampleCount: toNumber(members["example_count"]) ?? 0,
    runCount: toNumber(members["run_count"]) ?? 0,
    errorCount: toNumber(members["error_count"]) ?? 0,
    latencyMs: toNumber(members["latency_ms"]),
  };
}

function parseKey(value: unknown): ComparedKey {
  const members = toRecord(value);
  return {
    key: requireText(members, "key"),
    min: toNumber(members["min"]) ?? 0,
    max: toNumber(members["max"]) ?? 0,
    experiments: mapMembers(members["experiments"], (item) => {
      const summary = toRecord(item);
      return {
        mean: toNumber(summary["mean"]),
        count: toNumber(summary["count"]) ?? 0,
        better: toNumber(summary["better"]) ?? 0,
        worse: toNumber(summary["worse"]) ?? 0,
        same: toNumber(summary["same"]) ?? 0,
        bins: toItems(summary["bins"]).map((bin) => toNumber(bin) ?? 0),
      };
    }),
  };
}

function parseRow(value: unknown): ComparedRow {
  const members = toRecord(value);
  const { example } = members;
  return {
    exampleId: requireText(members, "example_id"),
    example: example === null ? undefined : parsePreview(example),
    scores: mapMembers(members["scores"], toScores),
    runs: mapMembers(members["runs"], (runs) => toItems(runs).map(parseRun)),
  };
}

function parseRun(value: unknown): ComparedRun {
  const members = toRecord(value);
  return {
    id: requireText(members, "id"),
    traceId: requireText(members, "trace_id"),
    hasError: members["has_error"] === true,
    latencyMs: toNumber(members["latency_ms"]),
    tokens: toNumber(members["tokens"]),
    outputs: toPreview(members["outputs"]),
    error: toPreview(members["error"]),
    scores: toScores(members["scores"]),
  };
}

const toScores = (value: unknown): Scores =>
  Object.fromEntries(
    Object.entries(toRecord(value)).flatMap(([key, score]) =>
      typeof score === "number" ? [[key, score]] : [],
    ),
  );

const mapMembers = <Result>(
  value: unknown,
  parse: (item: unknown) => Result,
): Readonly<Record<string, Result>> =>
  Object.fromEntries(Object.entries(toRecord(value)).map(([name, item]) => [name, parse(item)]));

function toPreview(value: unknown): TextPreview | undefined {
  const { text, chars } = toRecord(value);
  const shown = toText(text);
  return shown === undefined ? undefined : { text: shown, chars: toNumber(chars) ?? shown.length };
}

/** The first line of an error, of which the beginning of its JSON text is known. */
export const toErrorLine = (error: TextPreview | undefined): string =>
  error?.text
    .replace(/^"/, "")
    .split(String.raw`\n`, 1)[0]
    ?.replace(/"$/, "") ?? "failed";
