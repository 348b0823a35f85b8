import type { Any } from "./any.ts";

/** The entry point `langsmith/schemas`: the types of stored resources, with the names that langsmith gives them. */

/** An object with any members. */
export type KVMap = Record<string, Any>;
export type RunType = "llm" | "chain" | "tool" | "retriever" | "embedding" | "prompt" | "parser";
export type ScoreType = number | boolean | null;
export type ValueType = number | boolean | string | object | null;
export type DataType = "kv" | "llm" | "chat";

/** A project. */
export interface TracerSession {
  tenant_id: string;
  id: string;
  start_time: number;
  end_time?: number;
  description?: string;
  name?: string;
  extra?: KVMap;
  reference_dataset_id?: string;
}

/** A project with the statistics of its runs. */
export interface TracerSessionResult extends TracerSession {
  run_count?: number;
  latency_p50?: number;
  latency_p99?: number;
  total_tokens?: number;
  prompt_tokens?: number;
  completion_tokens?: number;
  last_run_start_time?: number;
  feedback_stats?: Record<string, unknown>;
  run_facets?: KVMap[];
}

export interface AttachmentInfo {
  presigned_url: string;
  mime_type?: string;
}
export type AttachmentData = Uint8Array | ArrayBuffer;
export type AttachmentDescription = { mimeType: string; data: AttachmentData };
export type Attachments = Record<string, [string, AttachmentData] | AttachmentDescription>;

/** The fields that all types of runs have. */
export interface BaseRun {
  id?: string;
  name: string;
  start_time?: number | string;
  run_type: string;
  end_time?: number | string;
  extra?: KVMap;
  error?: string;
  serialized?: object;
  events?: KVMap[];
  inputs: KVMap;
  outputs?: KVMap;
  reference_example_id?: string;
  parent_run_id?: string;
  tags?: string[];
  trace_id?: string;
  dotted_order?: string;
  attachments?: Attachments;
}

interface S3URL {
  ROOT: { presigned_url: string; s3_url: string };
}

/** A run that was read from the server. */
export interface Run extends BaseRun {
  id: string;
  session_id?: string;
  child_run_ids?: string[];
  child_runs?: Run[];
  feedback_stats?: KVMap;
  app_path?: string;
  manifest_id?: string;
  status?: string;
  prompt_tokens?: number;
  completion_tokens?: number;
  total_tokens?: number;
  first_token_time?: number;
  parent_run_ids?: string[];
  in_dataset?: boolean;
  outputs_s3_urls?: S3URL;
  inputs_s3_urls?: S3URL;
}

/** A run to record. */
export interface RunCreate extends BaseRun {
  revision_id?: string;
  child_runs?: this[];
  session_name?: string;
}

/** Changes of a run. */
export interface RunUpdate extends Partial<Omit<BaseRun, "id">> {
  id?: string;
  session_id?: string;
  session_name?: string;
}

/** The fields that all types of examples have. */
export interface BaseExample {
  dataset_id: string;
  inputs: KVMap;
  outputs?: KVMap;
  metadata?: KVMap;
  source_run_id?: string;
}

/** An example to create. */
export interface ExampleCreate {
  id?: string;
  inputs: KVMap;
  outputs?: KVMap;
  metadata?: KVMap;
  split?: string | string[];
  attachments?: Attachments;
  created_at?: string;
  dataset_id?: string;
  dataset_name?: string;
  source_run_id?: string;
  use_source_run_io?: boolean;
  use_source_run_attachments?: string[];
}
export type ExampleUploadWithAttachments = ExampleCreate;

/** Changes of an example. */
export interface ExampleUpdate {
  id: string;
  inputs?: KVMap;
  outputs?: KVMap;
  metadata?: KVMap;
  split?: string | string[];
  attachments?: Attachments;
  attachments_operations?: KVMap;
  dataset_id?: string;
}
export type ExampleUpdateWithoutId = Omit<ExampleUpdate, "id">;
export type ExampleUpdateWithAttachments = ExampleUpdate;
export type ExampleUpdateWithId = ExampleUpdate;

export interface UploadExamplesResponse {
  count: number;
  example_ids: string[];
  as_of?: string;
}
export type UpdateExamplesResponse = UploadExamplesResponse;

/** An example that was read from the server. */
export interface Example extends BaseExample {
  id: string;
  created_at: string;
  modified_at?: string;
  runs: Run[];
  attachments?: Record<string, AttachmentInfo>;
  split?: string | string[];
}

/** An example in the form of the server's JSON. */
export interface RawExample extends BaseExample {
  id: string;
  created_at: string;
  modified_at: string;
  runs: Run[];
  attachment_urls?: Record<string, { presigned_url: string; s3_url: string; mime_type?: string }>;
}

export interface BaseDataset {
  name: string;
  description: string;
  tenant_id: string;
  data_type?: DataType;
  inputs_schema_definition?: KVMap;
  outputs_schema_definition?: KVMap;
}
export interface Dataset extends BaseDataset {
  id: string;
  created_at: string;
  modified_at: string;
  example_count?: number;
  session_count?: number;
  last_session_start_time?: number;
}
export interface DatasetShareSchema {
  dataset_id: string;
  share_token: string;
  url: string;
}
export interface DatasetVersion {
  tags?: string[];
  as_of: string;
}
export interface DatasetDiffInfo {
  examples_modified: string[];
  examples_added: string[];
  examples_removed: string[];
}

export interface FeedbackSourceBase {
  type: string;
  metadata?: KVMap;
}
export interface APIFeedbackSource extends FeedbackSourceBase {
  type: "api";
}
export interface ModelFeedbackSource extends FeedbackSourceBase {
  type: "model";
}
export interface FeedbackBase {
  created_at: string;
  modified_at: string;
  run_id: string;
  trace_id?: string;
  key: string;
  score: ScoreType;
  value: ValueType;
  comment: string | null;
  correction: string | object | null;
  feedback_source: APIFeedbackSource | ModelFeedbackSource | KVMap | null;
}
export interface Feedback extends FeedbackBase {
  id: string;
}
export type FeedbackCreate = Feedback;
export interface FeedbackIngestToken {
  id: string;
  url: string;
  expires_at: string;
}
export interface TimeDelta {
  days?: number;
  hours?: number;
  minutes?: number;
}
export interface FeedbackCategory {
  value: number;
  label?: string | null;
}
export interface FeedbackConfig {
  type: "continuous" | "categorical" | "freeform";
  min?: number | null;
  max?: number | null;
  categories?: FeedbackCategory[] | null;
}
export interface FeedbackConfigSchema {
  feedback_key: string;
  feedback_config: FeedbackConfig;
  tenant_id: string;
  modified_at: string;
  is_lower_score_better?: boolean | null;
}

export interface LangChainBaseMessage {
  _getType: () => string;
  content: string;
  additional_kwargs?: KVMap;
}

export interface ComparisonEvaluationResult {
  key: string;
  scores: Record<string, ScoreType>;
  source_run_id?: string;
}
export interface ComparativeExperiment {
  id: string;
  name: string;
  description: string;
  tenant_id: string;
  created_at: string;
  modified_at: string;
  reference_dataset_id: string;
  extra?: Record<string, unknown>;
  experiments_info?: Record<string, unknown>[];
  feedback_stats?: Record<string, unknown>;
}

export type RetrieverOutput = { page_content: string; type: "Document"; metadata?: KVMap }[];
export interface InvocationParamsSchema {
  ls_provider?: string;
  ls_model_name?: string;
  ls_model_type: "chat" | "llm";
  ls_temperature?: number;
  ls_max_tokens?: number;
  ls_stop?: string[];
  ls_invocation_params?: Record<string, unknown>;
}

/** A commit of a prompt, with the prompt's content. */
export interface PromptCommit {
  owner: string;
  repo: string;
  commit_hash: string;
  manifest: Record<string, Any>;
  examples: Record<string, Any>[];
  description?: string;
  hub_model_config?: Record<string, Any>;
  hub_model_provider?: string;
}
export interface Prompt {
  repo_handle: string;
  description?: string;
  readme?: string;
  id: string;
  tenant_id: string;
  created_at: string;
  updated_at: string;
  is_public: boolean;
  is_archived: boolean;
  tags: string[];
  original_repo_id?: string;
  upstream_repo_id?: string;
  owner?: string;
  full_name: string;
  num_likes: number;
  num_downloads: number;
  num_views: number;
  liked_by_auth_user: boolean;
  last_commit_hash?: string;
  num_commits: number;
  original_repo_full_name?: string;
  upstream_repo_full_name?: string;
}
export interface ListPromptsResponse {
  repos: Prompt[];
  total: number;
}
export interface ListCommitsResponse {
  commits: PromptCommit[];
  total: number;
}
export type PromptSortField = "num_downloads" | "num_views" | "updated_at" | "num_likes";
export interface LikePromptResponse {
  likes: number;
}

export interface LangSmithSettings {
  id: string;
  display_name: string;
  created_at: string;
  tenant_handle?: string;
}

export interface AnnotationQueue {
  id: string;
  name: string;
  description?: string;
  created_at: string;
  updated_at: string;
  tenant_id: string;
}
export interface AnnotationQueueRubricItem {
  feedback_key: string;
  description?: string | null;
  value_descriptions?: Record<string, string> | null;
  score_descriptions?: Record<string, string> | null;
  is_required?: boolean | null;
}
export interface AnnotationQueueWithDetails extends AnnotationQueue {
  rubric_instructions?: string;
  rubric_items?: AnnotationQueueRubricItem[];
}
export interface RunKey {
  runId: string;
  sessionId: string;
  startTime: string | number | Date;
  sourceProposedExampleId?: string;
}
export interface RunWithAnnotationQueueInfo extends BaseRun {
  id: string;
  last_reviewed_time?: string;
  added_at?: string;
}

export type InputTokenDetails = {
  audio?: number;
  cache_read?: number;
  cache_creation?: number;
} & Record<string, number>;
export type OutputTokenDetails = { audio?: number; reasoning?: number } & Record<string, number>;
export type UsageMetadata = {
  input_tokens: number;
  output_tokens: number;
  total_tokens: number;
  input_token_details?: InputTokenDetails;
  output_token_details?: OutputTokenDetails;
  input_cost?: number;
  output_cost?: number;
  total_cost?: number;
  input_cost_details?: Record<string, unknown>;
  output_cost_details?: Record<string, unknown>;
};
export type ExtractedUsageMetadata = Partial<UsageMetadata>;

/** A file of an agent or a skill. */
export interface FileEntry {
  type: "file";
  content: string;
}
export interface AgentEntry {
  type: "agent";
  repo_handle: string;
  commit_id?: string;
  owner?: string;
  commit_hash?: string;
}
export interface SkillEntry extends Omit<AgentEntry, "type"> {
  type: "skill";
}
export type Entry = FileEntry | AgentEntry | SkillEntry;
export interface AgentContext {
  commit_id: string;
  commit_hash: string;
  files: Record<string, Entry>;
}
export type SkillContext = AgentContext;
