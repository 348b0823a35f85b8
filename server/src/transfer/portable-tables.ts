import { measureNames } from "../runs/usage/measures.ts";

// The one list of all tables: those whose rows are copied between databases, and those that are computed from them. A
// test compares it with the tables and columns of both engines, so that a new table can't be forgotten.

/** Numbers that a database assigns to rows, and that other rows refer to. A restored tenant gets new numbers. */
export type NumberSpace = "examples" | "exampleBlobs" | "queueEntries";

/** A table whose rows belong to tenants, in the form that both engines have in common. */
export interface PortableTable {
  readonly name: string;
  /** The columns that are copied, without `tenant_id`. */
  readonly columns: readonly string[];
  /** The columns that identify a row within its tenant. */
  readonly key: readonly string[];
  /** Columns that mean something only in the database that wrote them; each engine computes its own values. */
  readonly localColumns?: readonly string[];
  /** SQL for SQLite: the tables that are read, in which `t` is this one, and the tenant of its rows. */
  readonly sqlite: { readonly from: string; readonly tenant: string };
  /** Columns with numbers that the database assigned. */
  readonly numbers?: Readonly<Record<string, NumberSpace>>;
  /** Whether rows may be megabytes long, so that few are read at once. */
  readonly isWide?: boolean;
}

type Details = Partial<Omit<PortableTable, "name" | "columns" | "key">>;

const defineTable = (
  name: string,
  key: string,
  { columns, ...details }: Details & { readonly columns: string },
): PortableTable => ({
  name,
  key: key.split(" "),
  columns: columns.split(" "),
  sqlite: { from: `${name} t`, tenant: "t.tenant_id" },
  ...details,
});

/** SQL for tables of SQLite that have no column for the tenant: a row has the tenant of its project, or of its run. */
const ofProject = (name: string) => ({
  from: `${name} t JOIN projects p ON p.id = t.project_id`,
  tenant: "p.tenant_id",
});
const ofRun = (name: string) => ({
  from: `${name} t JOIN runs r ON r.id = t.id JOIN projects p ON p.id = r.project_id`,
  tenant: "p.tenant_id",
});

/**
 * The tables whose rows are copied, in an order in which they can be written: rows come after those that they refer to.
 * The row of a run contains its payloads, so the table `payloads` is a part of `runs` here. A payload is copied as a
 * whole, with the ranges of the texts that it shares with others.
 */
export const portableTables: readonly PortableTable[] = [
  defineTable("api_keys", "digest", {
    columns: "digest id name_json hint created_us revoked_us scopes",
  }),
  defineTable("projects", "id", {
    columns: "id name_json start_us end_us description_json extra_json reference_dataset_id",
  }),
  defineTable("datasets", "id", {
    columns:
      "id name_json created_us modified_us version_us example_count is_ready share_digest share_sealed index_json body",
  }),
  defineTable("dataset_versions", "dataset_id at_us", { columns: "dataset_id at_us author_json" }),
  defineTable("dataset_tags", "dataset_id tag_json", { columns: "dataset_id tag_json at_us" }),
  defineTable("runs", "id", {
    columns: `trace_id id project_id name run_type start_us end_us has_error parent_run_id dotted_order reference_example_id posted patched measured ${measureNames.join(" ")} cost_json`,
    sqlite: ofProject("runs"),
    isWide: true,
  }),
  defineTable("attachments", "id name", {
    columns: "trace_id id name content_type bytes",
    sqlite: ofRun("attachments"),
    isWide: true,
  }),
  defineTable("spans", "trace_id id", {
    columns: "trace_id id parent_id kind has_project run_id",
  }),
  defineTable("example_blobs", "key", {
    columns: "key dataset_id example_id bytes checksum",
    numbers: { key: "exampleBlobs" },
    isWide: true,
  }),
  defineTable("examples", "key", {
    columns:
      "key dataset_id id position created_us from_us to_us source_run_id inputs outputs metadata attachments",
    numbers: { key: "examples" },
    isWide: true,
  }),
  defineTable("comparatives", "id", {
    columns: "id dataset_id name_json description_json extra_json created_us modified_us digest",
  }),
  defineTable("comparative_experiments", "comparative_id position", {
    columns: "comparative_id position project_id",
  }),
  defineTable("feedback", "id", {
    columns:
      "id run_id project_id comparative_id key_json score score_json value_json comment_json correction_json config_json extra_json source_type_json source_metadata_json created_us modified_us digest",
  }),
  defineTable("feedback_tokens", "digest", {
    columns: "digest sealed id run_id key_json config_json created_us expires_us",
  }),
  defineTable("annotation_queues", "id", {
    columns: "id name_json default_dataset_id body created_us updated_us digest",
  }),
  defineTable("annotation_queue_runs", "place", {
    columns: "place queue_id id run_id added_us reviewed_us completed_us",
    numbers: { place: "queueEntries" },
  }),
  defineTable("annotation_queue_reviews", "place reviewer", {
    columns: "place reviewer queue_id until_us skipped_us done_us",
    numbers: { place: "queueEntries" },
  }),
  defineTable("shares", "digest", {
    columns: "digest sealed trace_id id",
    sqlite: ofRun("shares"),
  }),
  defineTable("trace_shares", "digest", {
    columns: "digest sealed trace_id id",
    sqlite: ofRun("trace_shares"),
  }),
  defineTable("thread_shares", "digest", {
    columns: "digest sealed project_id thread_json",
    sqlite: ofProject("thread_shares"),
  }),
  defineTable("views", "project_id id", {
    columns: "project_id id name_json fields_json created_us modified_us",
  }),
  defineTable("prompts", "id", {
    columns:
      "id handle repo_type is_public is_archived created_us updated_us likes downloads views commits last_hash search fields_json",
  }),
  defineTable("prompt_commits", "id", {
    columns:
      "id prompt_id number hash parent_id parent_hash created_us downloads views description_json manifest",
  }),
  defineTable("prompt_tags", "prompt_id name", {
    columns: "prompt_id name id commit_id created_us updated_us",
  }),
  defineTable("prompt_likes", "prompt_id", { columns: "prompt_id" }),
  defineTable("comments", "id", {
    columns:
      "id run_id trace_id example_id dataset_id text_json name_json key_id key_json created_us edited_us",
  }),
  defineTable("model_prices", "model provider tier from_us", {
    columns: "model provider tier from_us prices_json",
  }),
  defineTable("model_spending", "day", { columns: "day dollars calls" }),
  defineTable("ingest_counts", "day", { columns: "day bytes" }),
  defineTable("jobs", "id", {
    columns:
      "id kind title_json parameters_json state is_cancel_requested cursor_json progress_json failures_json error_json result_json claims lease_owner lease_until_us created_us started_us ended_us",
  }),
  defineTable("webhooks", "id", {
    columns:
      "id name_json url sealed is_enabled created_us delivered last_delivered_us previous_sealed previous_until_us",
  }),
  defineTable("webhook_deliveries", "id", {
    columns:
      "id webhook_id event body state attempts created_us next_us last_us last_status last_error",
  }),
  defineTable("rules", "id", {
    columns:
      "id project_id name_json filter_json sampling_rate action_json is_enabled paused_json created_us matched applied failed past_json",
    localColumns: ["from_row"],
  }),
  defineTable("rule_runs", "rule_id run_id", {
    columns: "rule_id run_id state attempts at_us next_us error_json",
  }),
  defineTable("alerts", "id", {
    columns:
      "id project_id name_json draft_json is_enabled created_us state is_firing streak value evaluated_us changed_us problem_json",
  }),
  defineTable("alert_events", "alert_id at_us", { columns: "alert_id at_us state value" }),
  defineTable("audit_entries", "id", {
    columns:
      "at_us id actor_kind actor actor_name_json address action target_json outcome status request_id",
  }),
  // Settings have no column for the tenant. The keys of a tenant's settings contain its id, which is left out here.
  defineTable("settings", "key", {
    columns: "key value",
    sqlite: {
      from: "settings t JOIN tenants n ON t.key = 'retention/' || n.id OR t.key GLOB 'retention/' || n.id || '/*'",
      tenant: "n.id",
    },
  }),
];

/** The columns of the table `payloads` that the row of a run contains. */
export const payloadColumns = ["digest", "body"] as const;

/** Tables that are not copied row by row, with the reason. */
export const specialTables: Readonly<Record<string, string>> = {
  tenants: "the first line of a backup contains the row of its tenant",
  payloads: "a part of the rows of runs",
  shared_texts: "parts of the payloads that share them; the target stores its own",
  rule_cursor: "how far rules were applied, as a position that is valid only in this database",
  rule_open_roots: "runs that have not ended, by a position that is valid only in this database",
};

/** Tables whose rows are computed from other tables, by the engine that has them. */
export const derivedTables: Readonly<Record<"sqlite" | "postgres", readonly string[]>> = {
  sqlite: [
    "example_places",
    "example_places_new",
    "example_texts",
    "experiment_versions",
    "metric_marks",
    "metrics",
    "run_counts",
    "run_facets",
    "tenant_keys",
    "text_changes",
    "text_claim",
  ],
  postgres: [
    "example_texts",
    "formats",
    "metric_marks",
    "metrics",
    "run_expired_weeks",
    "run_facet_candidates",
    "run_facets",
    "run_keys",
    "run_texts",
    "shared_text_candidates",
    "shared_text_uses",
    "text_cursor",
    "text_removals",
    "threads",
  ],
};

/** Returns the table with this name. */
export function findTable(name: string): PortableTable | undefined {
  return portableTables.find((table) => table.name === name);
}
