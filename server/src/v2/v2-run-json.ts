import type { StoredRun } from "../runs/run-row.ts";
import { createMembers } from "../runs/serializers/run-json.ts";
import type { RunView } from "../runs/serializers/run-json.ts";
import { toIso } from "../http/wire-text.ts";

/** How a field of a run is computed from the members that the run has in the first version of the API. */
interface Field {
  readonly sources: readonly string[];
  /** Returns `undefined` if the run has no such field. */
  readonly toJson: (
    members: ReadonlyMap<string, Buffer>,
    view: V2View,
  ) => Buffer | string | undefined;
}

/** What is needed to serialize a run, in addition to the run and the selected fields. */
export interface V2View extends Omit<RunView, "select"> {
  /** Base URL of the server, for links. */
  readonly baseUrl: string;
  /** The dataset that the run's project is an experiment on. */
  readonly referenceDatasetId?: string | undefined;
  /** When the run was last added to an annotation queue. */
  readonly lastQueuedMicros?: number | undefined;
  /** Whether an example was created from the run. */
  readonly isSource?: boolean | undefined;
  /** The share token of the whole trace, if the run is its root. */
  readonly traceToken?: string | undefined;
}

const previewChars = 500;

const createCopiedField = (name: string): Field => ({
  sources: [name],
  toJson: (members) => omitNull(members.get(name)),
});

/** Creates a field that converts the parsed value of a member. Use it only for members that are small. */
const createDerivedField = (name: string, convert: (value: unknown) => unknown): Field => ({
  sources: [name],
  toJson: (members) => {
    const json = omitNull(members.get(name));
    const value = json === undefined ? undefined : convert(JSON.parse(json.toString()));
    return value === undefined ? undefined : JSON.stringify(value);
  },
});

const toUpperCase = (value: unknown): unknown => String(value).toUpperCase();
const toNumber = (value: unknown): unknown => Number(value);
const createPreviewField = (name: string): Field => ({
  sources: [name],
  toJson: (members) => {
    const json = omitNull(members.get(name));
    // A character has at most four bytes, so the remainder of a large payload need not be decoded.
    const text = json
      ?.subarray(0, previewChars * 4)
      .toString()
      .slice(0, previewChars);
    return text === undefined ? undefined : JSON.stringify(text);
  },
});

type JsonObject = Readonly<Record<string, unknown>>;

/** Returns the member `name` of a value if that member is an object, otherwise an empty object. */
function readObject(value: unknown, name: string): JsonObject {
  const member: unknown =
    typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined;
  return typeof member === "object" && member !== null ? { ...member } : {};
}

/**
 * Creates a field for one breakdown of the reported usage, for example tokens by category. If the run reports none,
 * the field contains the breakdown that the server computed, which is the member `computedName`.
 */
const createDetailsField = (name: string, computedName?: string): Field => ({
  sources: ["outputs", "extra", ...(computedName === undefined ? [] : [computedName])],
  toJson: (members) => {
    const parse = (member: string): unknown => {
      const json = members.get(member);
      // Most runs report no breakdown. This check avoids parsing payloads, which may be large.
      return json?.includes(`"${name}"`) ? JSON.parse(json.toString()) : undefined;
    };
    const usages = [
      readObject(parse("outputs"), "usage_metadata"),
      readObject(readObject(parse("extra"), "metadata"), "usage_metadata"),
    ];
    const detailEntries = usages
      .map((usage) => Object.entries(readObject(usage, name)))
      .map((entries) => entries.filter(([, value]) => typeof value === "number"))
      .find((entries) => entries.length > 0);
    if (detailEntries !== undefined) {
      return JSON.stringify({ raw: Object.fromEntries(detailEntries) });
    }
    const computed = omitNull(members.get(computedName ?? ""));
    return computed && `{"raw":${computed.toString()}}`;
  },
});

/** The fields by the names that the parameter `selects` uses. */
const fields: Readonly<Record<string, Field>> = {
  ID: createCopiedField("id"),
  NAME: createCopiedField("name"),
  RUN_TYPE: createDerivedField("run_type", toUpperCase),
  STATUS: createDerivedField("status", toUpperCase),
  START_TIME: createCopiedField("start_time"),
  END_TIME: createCopiedField("end_time"),
  LATENCY_SECONDS: {
    sources: ["start_time", "end_time"],
    toJson: (members) => {
      const [start, end] = [
        parseTimeMember(members.get("start_time")),
        parseTimeMember(members.get("end_time")),
      ];
      return end === undefined || start === undefined
        ? undefined
        : JSON.stringify((end - start) / 1_000);
    },
  },
  FIRST_TOKEN_TIME: createCopiedField("first_token_time"),
  ERROR: createCopiedField("error"),
  ERROR_PREVIEW: createDerivedField("error", (error) => String(error).slice(0, previewChars)),
  EXTRA: createCopiedField("extra"),
  METADATA: createDerivedField(
    "extra",
    (extra) => (extra as { readonly metadata?: unknown }).metadata,
  ),
  EVENTS: createCopiedField("events"),
  INPUTS: createCopiedField("inputs"),
  INPUTS_PREVIEW: createPreviewField("inputs"),
  OUTPUTS: createCopiedField("outputs"),
  OUTPUTS_PREVIEW: createPreviewField("outputs"),
  MANIFEST: createCopiedField("serialized"),
  PARENT_RUN_ID: createCopiedField("parent_run_id"),
  PARENT_RUN_IDS: createCopiedField("parent_run_ids"),
  PROJECT_ID: createCopiedField("session_id"),
  TRACE_ID: createCopiedField("trace_id"),
  THREAD_ID: createCopiedField("thread_id"),
  DOTTED_ORDER: createCopiedField("dotted_order"),
  IS_ROOT: {
    sources: ["parent_run_id"],
    toJson: (members) => String(omitNull(members.get("parent_run_id")) === undefined),
  },
  REFERENCE_DATASET_ID: {
    sources: ["session_id"],
    toJson: (_members, { referenceDatasetId: id }) => (id === undefined ? id : JSON.stringify(id)),
  },
  REFERENCE_EXAMPLE_ID: createCopiedField("reference_example_id"),
  TOTAL_TOKENS: createCopiedField("total_tokens"),
  PROMPT_TOKENS: createCopiedField("prompt_tokens"),
  COMPLETION_TOKENS: createCopiedField("completion_tokens"),
  TOTAL_COST: createDerivedField("total_cost", toNumber),
  PROMPT_COST: createDerivedField("prompt_cost", toNumber),
  COMPLETION_COST: createDerivedField("completion_cost", toNumber),
  PROMPT_TOKEN_DETAILS: createDetailsField("input_token_details"),
  COMPLETION_TOKEN_DETAILS: createDetailsField("output_token_details"),
  PROMPT_COST_DETAILS: createDetailsField("input_cost_details", "prompt_cost_details"),
  COMPLETION_COST_DETAILS: createDetailsField("output_cost_details", "completion_cost_details"),
  TAGS: createCopiedField("tags"),
  APP_PATH: createCopiedField("app_path"),
  ATTACHMENTS: createDerivedField("s3_urls", (urls) =>
    Object.fromEntries(
      Object.entries(urls as Readonly<Record<string, { readonly presigned_url: string }>>).map(
        ([name, { presigned_url: url }]) => [name.replace(/^attachment\./, ""), url],
      ),
    ),
  ),
  SHARE_URL: {
    sources: ["share_token"],
    toJson: (members, { baseUrl, traceToken }) => {
      const json = omitNull(members.get("share_token"));
      const token = traceToken ?? (json && String(JSON.parse(json.toString())));
      return token === undefined ? undefined : JSON.stringify(`${baseUrl}/public/${token}/r`);
    },
  },
  FEEDBACK_STATS: createCopiedField("feedback_stats"),
  LAST_QUEUED_AT: {
    sources: [],
    toJson: (_members, { lastQueuedMicros: micros }) =>
      micros === undefined ? undefined : JSON.stringify(toIso(micros)),
  },
  // True if an example was created from the run, or if the run processed an example, as the client's documentation
  // describes it.
  IS_IN_DATASET: {
    sources: ["reference_example_id"],
    toJson: (members, { isSource = false }) =>
      String(isSource || omitNull(members.get("reference_example_id")) !== undefined),
  },
  // This server does not store these fields. A response omits them, as LangSmith omits fields without a value.
  ...Object.fromEntries(
    ["PRICE_MODEL_ID", "THREAD_EVALUATION_TIME", "LS_USER_ID"].map((name): [string, Field] => [
      name,
      { sources: [], toJson: () => undefined },
    ]),
  ),
};

/** The fields that can be selected. */
export const v2RunFields: readonly string[] = Object.keys(fields);

const ownerOnlyFields: ReadonlySet<string> = new Set([
  "APP_PATH",
  "SHARE_URL",
  "REFERENCE_EXAMPLE_ID",
  "IS_IN_DATASET",
  "LAST_QUEUED_AT",
  "LS_USER_ID",
]);

/** The fields that a reader with a share token can select. */
export const v2PublicFields: readonly string[] = v2RunFields.filter(
  (name) => !ownerOnlyFields.has(name),
);

/** Returns the members from which the selected fields are computed. */
export const findRequiredMembers = (selects: readonly string[]): ReadonlySet<string> =>
  new Set(selects.flatMap((name) => fields[name]?.sources ?? []));

/** Serializes the selected fields of a run. Payloads are copied as they were received. */
export function toV2RunJson(run: StoredRun, selects: readonly string[], view: V2View): Buffer {
  const members = createMembers(run, { ...view, select: findRequiredMembers(selects) });
  const chunks: Buffer[] = [];
  for (const name of new Set(["ID", ...selects])) {
    const json = fields[name]?.toJson(members, view);
    if (json !== undefined) {
      const key = `${chunks.length === 0 ? "{" : ","}${JSON.stringify(name.toLowerCase())}:`;
      chunks.push(Buffer.from(key), Buffer.from(json));
    }
  }
  return Buffer.concat([...chunks, Buffer.from("}")]);
}

const omitNull = (json: Buffer | undefined): Buffer | undefined =>
  json === undefined || json.equals(nullJson) ? undefined : json;

const nullJson = Buffer.from("null");

const parseTimeMember = (json: Buffer | undefined): number | undefined => {
  const timeMs = Date.parse(String(JSON.parse(json?.toString() ?? "null")));
  return Number.isNaN(timeMs) ? undefined : timeMs;
};
