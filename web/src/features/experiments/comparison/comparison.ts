import {
  requireItems,
  requireText,
  toItems,
  toNumber,
  toRecord,
  toText,
} from "../../../api/parse.ts";
import { parsePreview } from "../../datasets/examples/example.ts";
import type { ExamplePreview, TextPreview } from "../../datasets/examples/example.ts";

/** Scores by feedback key. */
type Scores = Readonly<Record<string, number>>;

/** One run of an experiment on an example, with a shortened payload. */
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

/** One example, with the scores and runs of each experiment. */
export interface ComparedRow {
  readonly exampleId: string;
  /** Absent if the example was deleted after the experiment. */
  readonly example: ExamplePreview | undefined;
  /** The mean scores of each experiment's runs on this example, by experiment id. */
  readonly scores: Readonly<Record<string, Scores>>;
  /** Each experiment's runs on this example, by experiment id. */
  readonly runs: Readonly<Record<string, readonly ComparedRun[]>>;
}

/** The scores of one experiment under one feedback key. */
export interface KeySummary {
  readonly mean: number | undefined;
  /** Number of examples with a score. */
  readonly count: number;
  /** Numbers of examples whose score is better than, worse than, or the same as in the baseline. */
  readonly better: number;
  readonly worse: number;
  readonly same: number;
  /** Number of examples in each tenth of the range from `min` to `max` of the key. */
  readonly bins: readonly number[];
}

/** A feedback key, with the range of its scores over all compared experiments. */
export interface ComparedKey {
  readonly key: string;
  readonly min: number;
  readonly max: number;
  /** Summaries by experiment id. */
  readonly experiments: Readonly<Record<string, KeySummary>>;
}

/** Totals of one experiment over the compared examples. */
export interface ExperimentTotals {
  readonly id: string;
  readonly exampleCount: number;
  readonly runCount: number;
  readonly errorCount: number;
}

/** One page of a comparison. The totals and keys cover all pages. */
export interface ComparisonPage {
  /** Number of examples that are compared. */
  readonly total: number;
  /** Number of compared examples in the requested subset, such as regressions only. */
  readonly matching: number;
  readonly experiments: readonly ExperimentTotals[];
  /** The feedback keys with scores, such as `correctness`. */
  readonly keys: readonly ComparedKey[];
  readonly rows: readonly ComparedRow[];
}

/** @throws TypeError `value` is not a comparison. */
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
  const previewText = toText(text);
  return previewText === undefined
    ? undefined
    : { text: previewText, chars: toNumber(chars) ?? previewText.length };
}

/** Returns the first line of an error. The preview of an error is the beginning of a JSON string, with quotes. */
export const toErrorLine = (error: TextPreview | undefined): string =>
  error?.text
    .replace(/^"/, "")
    .split(String.raw`\n`, 1)[0]
    ?.replace(/"$/, "") ?? "failed";
