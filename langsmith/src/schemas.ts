import type { Any } from "./any.ts";

/** The entry point `langsmith/schemas`: the types of stored resources, with the names that langsmith gives them. */

/** An object with any members. */
export type KVMap = Record<string, Any>;
/** The kinds of work that a run can represent. */
export type RunType = "llm" | "chain" | "tool" | "retriever" | "embedding" | "prompt" | "parser";
/** A score of feedback; null if there is none. */
export type ScoreType = number | boolean | null;
/** A value of feedback; null if there is none. */
export type ValueType = number | boolean | string | object | null;
/** Types of examples in a dataset: free-form pairs, prompts with completions, or chats. */
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

/** An attachment that can be downloaded from a URL. */
export interface AttachmentInfo {
  presigned_url: string;
  mime_type?: string;
}
/** The content of an attachment. */
export type AttachmentData = Uint8Array | ArrayBuffer;
/** The content of an attachment, with its MIME type. */
export type AttachmentDescription = { mimeType: string; data: AttachmentData };
/** Attachments by name. A pair contains the MIME type and the content. */
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
/** The same as {@link ExampleCreate}. */
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
/** Changes of an example whose id is a separate argument. */
export type ExampleUpdateWithoutId = Omit<ExampleUpdate, "id">;
/** The same as {@link ExampleUpdate}. */
export type ExampleUpdateWithAttachments = ExampleUpdate;
/** The same as {@link ExampleUpdate}. */
export type ExampleUpdateWithId = ExampleUpdate;

/** The result of creating examples. */
export interface UploadExamplesResponse {
  count: number;
  example_ids: string[];
  as_of?: string;
}
/** The result of updating examples. */
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

/** The fields that all types of datasets have. */
export interface BaseDataset {
  name: string;
  description: string;
  tenant_id: string;
  data_type?: DataType;
  inputs_schema_definition?: KVMap;
  outputs_schema_definition?: KVMap;
}
/** A dataset that was read from the server. */
export interface Dataset extends BaseDataset {
  id: string;
  created_at: string;
  modified_at: string;
  example_count?: number;
  session_count?: number;
  last_session_start_time?: number;
}
/** The link with which anyone can read a dataset. */
export interface DatasetShareSchema {
  dataset_id: string;
  share_token: string;
  url: string;
}
/** A version of a dataset: its time, and its tags. */
export interface DatasetVersion {
  tags?: string[];
  as_of: string;
}
/** The ids of the examples in which two versions of a dataset differ. */
export interface DatasetDiffInfo {
  examples_modified: string[];
  examples_added: string[];
  examples_removed: string[];
}

/** The fields that all sources of feedback have. */
export interface FeedbackSourceBase {
  type: string;
  metadata?: KVMap;
}
/** The source of feedback that a call of the API created. */
export interface APIFeedbackSource extends FeedbackSourceBase {
  type: "api";
}
/** The source of feedback that a model created. */
export interface ModelFeedbackSource extends FeedbackSourceBase {
  type: "model";
}
/** The content of feedback. */
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
/** Feedback that was read from the server. */
export interface Feedback extends FeedbackBase {
  id: string;
}
/** Feedback to create. */
export type FeedbackCreate = Feedback;
/** A URL with which anyone can give feedback on one run, until the URL expires. */
export interface FeedbackIngestToken {
  id: string;
  url: string;
  expires_at: string;
}
/** A duration. */
export interface TimeDelta {
  days?: number;
  hours?: number;
  minutes?: number;
}
/** A category of feedback: its value, and the label that is shown for it. */
export interface FeedbackCategory {
  value: number;
  label?: string | null;
}
/** The meaning of the scores of a feedback key. */
export interface FeedbackConfig {
  type: "continuous" | "categorical" | "freeform";
  min?: number | null;
  max?: number | null;
  categories?: FeedbackCategory[] | null;
}
/** The stored configuration of a feedback key. */
export interface FeedbackConfigSchema {
  feedback_key: string;
  feedback_config: FeedbackConfig;
  tenant_id: string;
  modified_at: string;
  is_lower_score_better?: boolean | null;
}

/** The part of a message of LangChain that langsmith reads. */
export interface LangChainBaseMessage {
  _getType: () => string;
  content: string;
  additional_kwargs?: KVMap;
}

/** The result of an evaluator that compares experiments: a score for each run, by the run's id. */
export interface ComparisonEvaluationResult {
  key: string;
  scores: Record<string, ScoreType>;
  source_run_id?: string;
}
/** A comparison of experiments over the same dataset. */
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

/** The documents that a retriever returned. */
export type RetrieverOutput = { page_content: string; type: "Document"; metadata?: KVMap }[];
/** The model of a call, and the settings with which it was called. */
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
/** A prompt, without the content of its commits. */
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
/** A page of prompts, and the number of all prompts. */
export interface ListPromptsResponse {
  repos: Prompt[];
  total: number;
}
/** A page of commits, and the number of all commits. */
export interface ListCommitsResponse {
  commits: PromptCommit[];
  total: number;
}
/** The fields by which prompts can be sorted. */
export type PromptSortField = "num_downloads" | "num_views" | "updated_at" | "num_likes";
/** The number of likes of a prompt after a change. */
export interface LikePromptResponse {
  likes: number;
}

/** The settings of a workspace. */
export interface LangSmithSettings {
  id: string;
  display_name: string;
  created_at: string;
  tenant_handle?: string;
}

/** A queue of runs that people review. */
export interface AnnotationQueue {
  id: string;
  name: string;
  description?: string;
  created_at: string;
  updated_at: string;
  tenant_id: string;
}
/** Which feedback a reviewer gives, and what its values mean. */
export interface AnnotationQueueRubricItem {
  feedback_key: string;
  description?: string | null;
  value_descriptions?: Record<string, string> | null;
  score_descriptions?: Record<string, string> | null;
  is_required?: boolean | null;
}
/** A queue, with the instructions for its reviewers. */
export interface AnnotationQueueWithDetails extends AnnotationQueue {
  rubric_instructions?: string;
  rubric_items?: AnnotationQueueRubricItem[];
}
/** Identifies a run that is added to a queue. */
export interface RunKey {
  runId: string;
  sessionId: string;
  startTime: string | number | Date;
  sourceProposedExampleId?: string;
}
/** A run in a queue, with the times of its review. */
export interface RunWithAnnotationQueueInfo extends BaseRun {
  id: string;
  last_reviewed_time?: string;
  added_at?: string;
}

/** The numbers of input tokens by kind, such as cached tokens. */
export type InputTokenDetails = {
  audio?: number;
  cache_read?: number;
  cache_creation?: number;
} & Record<string, number>;
/** The numbers of output tokens by kind, such as reasoning tokens. */
export type OutputTokenDetails = { audio?: number; reasoning?: number } & Record<string, number>;
/** The numbers of tokens of a model call. */
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
/** The numbers of tokens of a model call, as far as they are known. */
export type ExtractedUsageMetadata = Partial<UsageMetadata>;

/** A file of an agent or a skill. */
export interface FileEntry {
  type: "file";
  content: string;
}
/** A reference to another agent in the files of an agent or a skill. */
export interface AgentEntry {
  type: "agent";
  repo_handle: string;
  commit_id?: string;
  owner?: string;
  commit_hash?: string;
}
/** A reference to a skill in the files of an agent or a skill. */
export interface SkillEntry extends Omit<AgentEntry, "type"> {
  type: "skill";
}
/** An entry in the files of an agent or a skill. */
export type Entry = FileEntry | AgentEntry | SkillEntry;
/** An agent that was pulled: a commit with its files. */
export interface AgentContext {
  commit_id: string;
  commit_hash: string;
  files: Record<string, Entry>;
}
/** A skill that was pulled: a commit with its files. */
export type SkillContext = AgentContext;
