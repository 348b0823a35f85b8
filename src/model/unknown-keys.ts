/** A key that is not one of those known, and the one that was probably meant. */
export interface UnknownKey {
  readonly name: string;
  /** A key that is known; `undefined` where none is near. */
  readonly nearest: string | undefined;
  readonly known: readonly string[];
}

/** Every key of an options type, of each member of a union: a key that is left out, or one too many, does not compile. */
export type KeyTable<Options> = {
  readonly [Name in Options extends unknown ? keyof Options & string : never]-?: unknown;
};

/** The keys of an object that are not among those known; none where it is no object. */
export function unknownKeysOf(given: unknown, known: Iterable<string>): readonly UnknownKey[] {
  if (typeof given !== "object" || given === null) {
    return [];
  }
  const names = [...known];
  return Object.keys(given)
    .filter((name) => !names.includes(name))
    .map((name) => ({ name, nearest: nearestOf(name, names), known: names }));
}

/** What a message says of an unknown key; `kind` is what the key is, such as `option` or `filter`. */
export function unknownKeyText(kind: string, { name, nearest, known }: UnknownKey): string {
  // As JSON without its quotes: a key can hold what moves the cursor of a terminal.
  const shown = JSON.stringify(name.slice(0, 100)).slice(1, -1);
  const advice =
    nearest === undefined ? `known: ${known.join(", ")}` : `did you mean \`${nearest}\`?`;
  return `unknown ${kind} \`${shown}\`; ${advice}`;
}

/** What {@link checkKeys} does with an unknown key. */
export interface KeyCheck {
  /** What has the key, such as `new Client`. */
  readonly what: string;
  /** What the key is. @defaultValue "option" */
  readonly kind?: string;
  /** The error, of its text. */
  readonly error: new (message: string) => Error;
}

/**
 * Refuses an object with a key that is not known; a value that is no object has none.
 *
 * @throws the error of the check.
 */
export function checkKeys<Options>(
  given: Options,
  known: KeyTable<Options>,
  { what, kind = "option", error }: KeyCheck,
): void {
  const [unknown] = unknownKeysOf(given, Object.keys(known));
  if (unknown !== undefined) {
    throw new error(`${what}: ${unknownKeyText(kind, unknown)}`);
  }
}

/**
 * Names that users of langsmith's client and of its wire type, and what they are called here: of several,
 * the first that the call has. Names that differ in case, underscores or the plural need no entry.
 */
const otherNames: Readonly<Record<string, readonly string[]>> = {
  // Options of its client.
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
  // Runs.
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
  // Datasets, examples, feedback, prompts.
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
  // How long a call may take.
  timeout: ["timeoutMs", "signal"],
  timeout_ms: ["timeoutMs", "signal"],
  timeoutMs: ["signal"],
};

function nearestOf(name: string, known: readonly string[]): string | undefined {
  const alias = (Object.hasOwn(otherNames, name) ? otherNames[name] : undefined) ?? [];
  return (
    alias.find((candidate) => known.includes(candidate)) ??
    known.find((candidate) => plain(candidate) === plain(name)) ??
    closestOf(name, known)
  );
}

/** Without case, underscores, dashes and a plural's last letter. */
const plain = (name: string): string => name.toLowerCase().replace(/[_-]/g, "").replace(/s$/, "");

function closestOf(name: string, known: readonly string[]): string | undefined {
  const limit = Math.max(1, Math.floor(name.length / 3));
  // A long key is no misspelling, and would take its time.
  const ranked =
    name.length > 60
      ? []
      : known
          .map((candidate) => ({ candidate, distance: distanceOf(plain(name), plain(candidate)) }))
          .filter(({ distance }) => distance <= limit)
          .toSorted((left, right) => left.distance - right.distance);
  return ranked[0]?.candidate;
}

/** Letters to insert, delete or change to make one text of the other (Levenshtein). */
function distanceOf(left: string, right: string): number {
  let row = Array.from({ length: right.length + 1 }, (_, index) => index);
  for (let at = 0; at < left.length; at += 1) {
    const next = [at + 1];
    for (let to = 0; to < right.length; to += 1) {
      const changed = (row[to] ?? 0) + (left[at] === right[to] ? 0 : 1);
      next.push(Math.min(changed, (row[to + 1] ?? 0) + 1, (next[to] ?? 0) + 1));
    }
    row = next;
  }
  return row[right.length] ?? 0;
}
