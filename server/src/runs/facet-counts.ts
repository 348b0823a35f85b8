import { userKeys } from "millrace/model";
import { mergePayloads } from "./merge-payloads.ts";
import { facetNames } from "./run-list.ts";
import type { FacetCounts, FacetName } from "./run-list.ts";
import { determineStatus } from "./run-row.ts";
import type { RunPart, StoredRun } from "./run-row.ts";

/** The parts of a run that {@link countFacetValues} reads. */
export const facetParts: ReadonlySet<RunPart> = new Set([
  "name",
  "runType",
  "hasError",
  "startMicros",
  "endMicros",
  "bodies",
]);

/** Maximum length of a value that is counted. Longer values do not fit into the sidebar of the run list. */
const maxValueChars = 200;
/** Tags and metadata of more bytes than this are not parsed. */
const maxParsedBytes = 65_536;
/** Maximum number of different values that are counted for one property. Further values are left out. */
const maxValues = 2_000;

type MutableCounts = { readonly [Name in FacetName]: Map<string, number> };

/**
 * Counts the values of runs by property. A run counts only once for a value, even if it has the value twice.
 *
 * @param traceModels - for a list of traces: the models of each trace, by the id of its root run
 */
export function countFacetValues(
  runs: readonly StoredRun[],
  traceModels?: ReadonlyMap<string, readonly unknown[]>,
): FacetCounts {
  const counts = createCounts();
  for (const run of runs) {
    const facetValues = readFacetValues(run);
    const models = selectCountedTexts(traceModels?.get(run.row.id) ?? []);
    const countedValues =
      traceModels === undefined
        ? facetValues
        : [...facetValues.filter(([name]) => name !== "model"), ["trace_model", models] as const];
    for (const [name, values] of countedValues) {
      for (const value of new Set(values)) {
        addCount(counts[name], value, 1);
      }
    }
  }
  return counts;
}

/** Adds up the counts of several slices of the runs. */
export function addFacetCounts(slices: readonly FacetCounts[]): FacetCounts {
  const total = createCounts();
  for (const counts of slices) {
    for (const name of facetNames) {
      counts[name].forEach((count, value) => addCount(total[name], value, count));
    }
  }
  return total;
}

const createCounts = (): MutableCounts =>
  Object.fromEntries(facetNames.map((name) => [name, new Map<string, number>()])) as MutableCounts;

function addCount(counts: Map<string, number>, value: string, count: number): void {
  const previous = counts.get(value);
  if (previous !== undefined || counts.size < maxValues) {
    counts.set(value, (previous ?? 0) + count);
  }
}

function readFacetValues(
  run: StoredRun,
): readonly (readonly [name: FacetName, values: readonly string[]])[] {
  const { name, runType } = run.row;
  const members = mergePayloads(run.bodies.map((body) => Buffer.from(body)));
  const metadata = toObject(toObject(parseJson(members.get("extra")))["metadata"]);
  const tags = parseJson(members.get("tags"));
  return [
    ["status", [determineStatus(run.row)]],
    ["run_type", selectCountedTexts([runType])],
    ["name", selectCountedTexts([name])],
    ["model", selectCountedTexts([metadata["ls_model_name"]])],
    ["tag", selectCountedTexts(Array.isArray(tags) ? tags : [])],
    ["user", selectCountedTexts([...new Set(userKeys.map((key) => metadata[key]))])],
    ["version", selectCountedTexts([metadata["version"]])],
  ];
}

const selectCountedTexts = (values: readonly unknown[]): readonly string[] =>
  values.filter(
    (value): value is string =>
      typeof value === "string" && value !== "" && value.length <= maxValueChars,
  );

/** Does not catch errors: the JSON was validated when it was received. */
const parseJson = (json: Buffer | undefined): unknown =>
  json === undefined || json.length > maxParsedBytes
    ? undefined
    : (JSON.parse(json.toString("utf8")) as unknown);

const toObject = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
