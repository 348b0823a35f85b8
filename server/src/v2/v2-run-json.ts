import type { StoredRun } from "../runs/run-row.ts";
import { membersOf } from "../runs/serializers/run-json.ts";
import type { RunView } from "../runs/serializers/run-json.ts";
import { toIso } from "../http/wire-text.ts";

/** What a field is made of: members of the run as the first version of the API has them. */
interface Field {
  readonly from: readonly string[];
  /** `undefined` leaves the field out. */
  readonly toJson: (
    members: ReadonlyMap<string, Buffer>,
    view: V2View,
  ) => Buffer | string | undefined;
}

export interface V2View extends Omit<RunView, "select"> {
  /** Address of the server, for links. */
  readonly baseUrl: string;
  /** The dataset that the run's project is an experiment on. */
  readonly referenceDatasetId?: string | undefined;
  /** When the run was last added to an annotation queue. */
  readonly lastQueuedMicros?: number | undefined;
  /** Whether an example was made of the run. */
  readonly isSource?: boolean | undefined;
  /** The token of the whole trace, of which the run is the root. */
  readonly traceToken?: string | undefined;
}

const previewChars = 500;

const same = (name: string): Field => ({
  from: [name],
  toJson: (members) => withoutNull(members.get(name)),
});

/** Made from a member's value: only of members that are small, or cut. */
const made = (name: string, make: (value: unknown) => unknown): Field => ({
  from: [name],
  toJson: (members) => {
    const json = withoutNull(members.get(name));
    const value = json === undefined ? undefined : make(JSON.parse(json.toString()));
    return value === undefined ? undefined : JSON.stringify(value);
  },
});

const upper = (value: unknown): unknown => String(value).toUpperCase();
const toNumber = (value: unknown): unknown => Number(value);
const preview = (name: string): Field => ({
  from: [name],
  toJson: (members) => {
    const json = withoutNull(members.get(name));
    // A character is at most four bytes: the rest of a large payload is not read.
    const text = json
      ?.subarray(0, previewChars * 4)
      .toString()
      .slice(0, previewChars);
    return text === undefined ? undefined : JSON.stringify(text);
  },
});

type JsonObject = Readonly<Record<string, unknown>>;

/** The object under a name; an empty one where the name is missing. */
function objectAt(value: unknown, name: string): JsonObject {
  const found: unknown =
    typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined;
  return typeof found === "object" && found !== null ? { ...found } : {};
}

/** A part of the usage that a run reports of itself: by category, as numbers. */
const details = (name: string): Field => ({
  from: ["outputs", "extra"],
  toJson: (members) => {
    const parse = (member: string): unknown => {
      const json = members.get(member);
      // Most runs report none: told without making an object of a payload that may be large.
      return json?.includes(`"${name}"`) ? JSON.parse(json.toString()) : undefined;
    };
    const usages = [
      objectAt(parse("outputs"), "usage_metadata"),
      objectAt(objectAt(parse("extra"), "metadata"), "usage_metadata"),
    ];
    const raw = usages
      .map((usage) => Object.entries(objectAt(usage, name)))
      .map((entries) => entries.filter(([, value]) => typeof value === "number"))
      .find((entries) => entries.length > 0);
    return raw === undefined ? undefined : JSON.stringify({ raw: Object.fromEntries(raw) });
  },
});

/** By the names that `selects` has. */
const fields: Readonly<Record<string, Field>> = {
  ID: same("id"),
  NAME: same("name"),
  RUN_TYPE: made("run_type", upper),
  STATUS: made("status", upper),
  START_TIME: same("start_time"),
  END_TIME: same("end_time"),
  LATENCY_SECONDS: {
    from: ["start_time", "end_time"],
    toJson: (members) => {
      const [start, end] = [timeOf(members.get("start_time")), timeOf(members.get("end_time"))];
      return end === undefined || start === undefined
        ? undefined
        : JSON.stringify((end - start) / 1_000);
    },
  },
  FIRST_TOKEN_TIME: same("first_token_time"),
  ERROR: same("error"),
  ERROR_PREVIEW: made("error", (error) => String(error).slice(0, previewChars)),
  EXTRA: same("extra"),
  METADATA: made("extra", (extra) => (extra as { readonly metadata?: unknown }).metadata),
  EVENTS: same("events"),
  INPUTS: same("inputs"),
  INPUTS_PREVIEW: preview("inputs"),
  OUTPUTS: same("outputs"),
  OUTPUTS_PREVIEW: preview("outputs"),
  MANIFEST: same("serialized"),
  PARENT_RUN_ID: same("parent_run_id"),
  PARENT_RUN_IDS: same("parent_run_ids"),
  PROJECT_ID: same("session_id"),
  TRACE_ID: same("trace_id"),
  THREAD_ID: same("thread_id"),
  DOTTED_ORDER: same("dotted_order"),
  IS_ROOT: {
    from: ["parent_run_id"],
    toJson: (members) => String(withoutNull(members.get("parent_run_id")) === undefined),
  },
  REFERENCE_DATASET_ID: {
    from: ["session_id"],
    toJson: (_members, { referenceDatasetId: id }) => (id === undefined ? id : JSON.stringify(id)),
  },
  REFERENCE_EXAMPLE_ID: same("reference_example_id"),
  TOTAL_TOKENS: same("total_tokens"),
  PROMPT_TOKENS: same("prompt_tokens"),
  COMPLETION_TOKENS: same("completion_tokens"),
  TOTAL_COST: made("total_cost", toNumber),
  PROMPT_COST: made("prompt_cost", toNumber),
  COMPLETION_COST: made("completion_cost", toNumber),
  PROMPT_TOKEN_DETAILS: details("input_token_details"),
  COMPLETION_TOKEN_DETAILS: details("output_token_details"),
  PROMPT_COST_DETAILS: details("input_cost_details"),
  COMPLETION_COST_DETAILS: details("output_cost_details"),
  TAGS: same("tags"),
  APP_PATH: same("app_path"),
  ATTACHMENTS: made("s3_urls", (urls) =>
    Object.fromEntries(
      Object.entries(urls as Readonly<Record<string, { readonly presigned_url: string }>>).map(
        ([name, { presigned_url: url }]) => [name.replace(/^attachment\./, ""), url],
      ),
    ),
  ),
  SHARE_URL: {
    from: ["share_token"],
    toJson: (members, { baseUrl, traceToken }) => {
      const json = withoutNull(members.get("share_token"));
      const token = traceToken ?? (json && String(JSON.parse(json.toString())));
      return token === undefined ? undefined : JSON.stringify(`${baseUrl}/public/${token}/r`);
    },
  },
  FEEDBACK_STATS: same("feedback_stats"),
  LAST_QUEUED_AT: {
    from: [],
    toJson: (_members, { lastQueuedMicros: micros }) =>
      micros === undefined ? undefined : JSON.stringify(toIso(micros)),
  },
  // As the client documents it: a run is linked to an example that was made of it, and to one that it was run on.
  IS_IN_DATASET: {
    from: ["reference_example_id"],
    toJson: (members, { isSource = false }) =>
      String(isSource || withoutNull(members.get("reference_example_id")) !== undefined),
  },
  // Known to no run here; asked for, they are left out, as where the platform has recorded none.
  ...Object.fromEntries(
    ["PRICE_MODEL_ID", "THREAD_EVALUATION_TIME", "LS_USER_ID"].map((name): [string, Field] => [
      name,
      { from: [], toJson: () => undefined },
    ]),
  ),
};

/** The fields that can be selected. */
export const v2RunFields: readonly string[] = Object.keys(fields);

const owners: ReadonlySet<string> = new Set([
  "APP_PATH",
  "SHARE_URL",
  "REFERENCE_EXAMPLE_ID",
  "IS_IN_DATASET",
  "LAST_QUEUED_AT",
  "LS_USER_ID",
]);

/** The fields of a run that the holder of its token can select. */
export const v2PublicFields: readonly string[] = v2RunFields.filter((name) => !owners.has(name));

/** The members that a selection is made of. */
export const membersFor = (selects: readonly string[]): ReadonlySet<string> =>
  new Set(selects.flatMap((name) => fields[name]?.from ?? []));

/** A run with the fields that are selected; payloads as they were received. */
export function toV2RunJson(run: StoredRun, selects: readonly string[], view: V2View): Buffer {
  const members = membersOf(run, { ...view, select: membersFor(selects) });
  const pieces: Buffer[] = [];
  for (const name of new Set(["ID", ...selects])) {
    const json = fields[name]?.toJson(members, view);
    if (json !== undefined) {
      const key = `${pieces.length === 0 ? "{" : ","}${JSON.stringify(name.toLowerCase())}:`;
      pieces.push(Buffer.from(key), Buffer.from(json));
    }
  }
  return Buffer.concat([...pieces, Buffer.from("}")]);
}

const withoutNull = (json: Buffer | undefined): Buffer | undefined =>
  json === undefined || json.equals(nullJson) ? undefined : json;

const nullJson = Buffer.from("null");

const timeOf = (json: Buffer | undefined): number | undefined => {
  const time = Date.parse(String(JSON.parse(json?.toString() ?? "null")));
  return Number.isNaN(time) ? undefined : time;
};
