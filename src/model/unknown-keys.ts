import { computeEditDistance } from "./edit-distance.ts";

/** An unknown key, and the known key that was probably meant. */
export interface UnknownKey {
  readonly name: string;
  /** The most similar known key; `undefined` if none is similar. */
  readonly nearest: string | undefined;
  readonly known: readonly string[];
}

/**
 * A table of all keys of an options type, including the keys of each member of a union. A table with a missing or
 * additional key does not compile.
 */
export type KeyTable<Options> = {
  readonly [Name in Options extends unknown ? keyof Options & string : never]-?: unknown;
};

/** Returns the keys of an object that are not known; empty if the value is not an object. */
export function unknownKeysOf(value: unknown, known: Iterable<string>): readonly UnknownKey[] {
  if (typeof value !== "object" || value === null) {
    return [];
  }
  const names = [...known];
  return Object.keys(value)
    .filter((name) => !names.includes(name))
    .map((name) => ({ name, nearest: findNearest(name, names), known: names }));
}

/**
 * Formats the message about an unknown key. `kind` is what the key is, such as `option` or
 * `filter`.
 */
export function unknownKeyText(kind: string, { name, nearest, known }: UnknownKey): string {
  // Format the name as JSON without quotes, because it can contain control characters that affect a terminal.
  const shown = JSON.stringify(name.slice(0, 100)).slice(1, -1);
  const advice =
    nearest === undefined ? `known: ${known.join(", ")}` : `did you mean \`${nearest}\`?`;
  return `unknown ${kind} \`${shown}\`; ${advice}`;
}

/** How {@link checkKeys} reports an unknown key. */
export interface KeyCheck {
  /** The call or object with the key, such as `new Client`. */
  readonly subject: string;
  /**
   * What the key is.
   * @defaultValue "option"
   */
  readonly kind?: string;
  /** Class of the error to throw. */
  readonly error: new (message: string) => Error;
}

/**
 * Throws if an object has an unknown key. Values that are not objects pass.
 *
 * @throws an error of the class `error`.
 */
export function checkKeys<Options>(
  value: Options,
  known: KeyTable<Options>,
  { subject, kind = "option", error }: KeyCheck,
): void {
  const [unknownKey] = unknownKeysOf(value, Object.keys(known));
  if (unknownKey !== undefined) {
    throw new error(`${subject}: ${unknownKeyText(kind, unknownKey)}`);
  }
}

/**
 * For each name that users of the LangSmith client and of its wire types may expect: Millrace's names for the same
 * thing. If an entry lists several names, the first one that the call accepts is suggested. Names that differ only in
 * case, underscores or the plural need no entry.
 */
const expectedNames: Readonly<Record<string, readonly string[]>> = {
  // Options of the LangSmith client, and Millrace's options for the same purpose.
  apiUrl: ["endpoint"],
  anonymizer: ["redact"],
  autoBatchTracing: ["batchLimit"],
  batchSizeBytesLimit: ["tapeBytes"],
  batchSizeLimit: ["batchLimit"],
  callerOptions: ["attempts"],
  maxRetries: ["attempts"],
  maxConcurrency: ["requestsInFlight"],
  debug: ["logLevel"],
  fetchOptions: ["headers"],
  maxIngestMemoryBytes: ["maxQueueBytes"],
  tenantId: ["workspaceId"],
  traceBatchConcurrency: ["requestsInFlight"],
  tracingEnabled: ["enabled"],
  tracingMode: ["enabled"],
  tracingSamplingRate: ["samplingRate"],
  // Names that the LangSmith client uses in calls about runs and projects, and Millrace's names for the same.
  dataset: ["datasetName", "datasetNames"],
  execution_order: ["order"],
  extra: ["metadata"],
  feedbackSourceTypes: ["sourceTypes"],
  id: ["ids", "projectId", "datasetId"],
  loadChildRuns: ["withChildRuns"],
  name: ["projectName", "datasetName"],
  ids: ["projectIds", "datasetIds"],
  project: ["projectName", "projectNames", "projectId"],
  projectName: ["projectNames", "name"],
  runIds: ["ids"],
  runId: ["ids"],
  session: ["projectName", "projectNames"],
  session_id: ["projectId", "projectIds"],
  session_name: ["projectName", "projectNames"],
  sessionId: ["projectId", "projectIds"],
  sessionName: ["projectName", "projectNames"],
  parent_run: ["parent"],
  // Names that the LangSmith client uses in calls about datasets, examples, feedback and prompts, and Millrace's names
  // for the same.
  data_type: ["dataType"],
  datasetName: ["name"],
  exampleIds: ["ids"],
  feedbackId: ["id"],
  feedbackKeys: ["keys"],
  feedbackSourceType: ["sourceType"],
  inputs_schema_definition: ["inputsSchema"],
  kvs: ["inputs"],
  object: ["manifest"],
  outputs_schema_definition: ["outputsSchema"],
  parentCommitHash: ["parentCommit"],
  projectExtra: ["extra", "metadata"],
  sourceInfo: ["sourceMetadata"],
  source_run_id: ["sourceRunId"],
  splits: ["split"],
  // A call without the option `timeoutMs` can be ended with a `signal`.
  timeout: ["timeoutMs", "signal"],
  timeout_ms: ["timeoutMs", "signal"],
  timeoutMs: ["signal"],
};

function findNearest(name: string, knownNames: readonly string[]): string | undefined {
  const aliases = (Object.hasOwn(expectedNames, name) ? expectedNames[name] : undefined) ?? [];
  return (
    aliases.find((candidate) => knownNames.includes(candidate)) ??
    knownNames.find((candidate) => normalize(candidate) === normalize(name)) ??
    findClosest(name, knownNames)
  );
}

/** Removes case, underscores, dashes and the plural `s`. */
const normalize = (name: string): string =>
  name.toLowerCase().replace(/[_-]/g, "").replace(/s$/, "");

function findClosest(name: string, knownNames: readonly string[]): string | undefined {
  const limit = Math.max(1, Math.floor(name.length / 3));
  // A long key is not a misspelling, and comparing it would take long.
  const ranked =
    name.length > 60
      ? []
      : knownNames
          .map((candidate) => ({
            candidate,
            distance: computeEditDistance(normalize(name), normalize(candidate), { swapCost: 1 }),
          }))
          .filter(({ distance }) => distance <= limit)
          .toSorted((left, right) => left.distance - right.distance);
  return ranked[0]?.candidate;
}
