import type {
  AnnotationQueue as MillraceQueue,
  Attachment,
  ComparativeExperiment as MillraceComparative,
  Dataset as MillraceDataset,
  Example as MillraceExample,
  Feedback as MillraceFeedback,
  Project,
  Prompt as MillracePrompt,
  PromptCommit as MillraceCommit,
  PulledPrompt,
  QueuedRun,
  Run as MillraceRun,
} from "millrace";
import type {
  AnnotationQueueWithDetails,
  AttachmentInfo,
  ComparativeExperiment,
  Dataset,
  Example,
  Feedback,
  KVMap,
  Prompt,
  PromptCommit,
  Run,
  RunWithAnnotationQueueInfo,
  TracerSessionResult,
} from "../schemas.ts";

/** Names of langsmith that differ from Millrace's by more than snake case. */
const otherNames: Readonly<Record<string, string>> = {
  projectId: "session_id",
  projectName: "session_name",
  projectIds: "session_ids",
};

/** Converts the names of a resource's own members, but not the names within their values. */
export function toSnakeCase(
  resource: object,
  names: Readonly<Record<string, string>> = otherNames,
): KVMap {
  return Object.fromEntries(
    Object.entries(resource)
      .filter(([, value]) => value !== undefined)
      .map(([name, value]: [string, unknown]) => [names[name] ?? toSnakeName(name), value]),
  );
}

const toSnakeName = (name: string): string =>
  name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** Converts the name of a field that is passed in the option `select`. */
export const toCamelName = (name: string): string =>
  name === "session_id"
    ? "projectId"
    : name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());

/** Converts a run. */
export function toRun(run: MillraceRun): Run {
  const { childRuns, attachments, ...fields } = run;
  return {
    ...toSnakeCase(fields),
    ...(childRuns && { child_runs: childRuns.map(toRun) }),
    ...(attachments && { attachments: toAttachments(attachments) }),
  } as unknown as Run;
}

const toAttachments = (
  attachments: Readonly<Record<string, Attachment>>,
): Record<string, AttachmentInfo> =>
  Object.fromEntries(
    Object.entries(attachments).map(([name, { presignedUrl, mimeType }]) => [
      name,
      { presigned_url: presignedUrl, ...(mimeType === undefined ? {} : { mime_type: mimeType }) },
    ]),
  );

/** Converts an example. */
export function toExample(example: MillraceExample): Example {
  const { splits, metadata, attachments, ...fields } = example;
  return {
    ...toSnakeCase(fields),
    // Programs written for langsmith read the splits from the metadata, where LangSmith stores them.
    metadata: splits.length === 0 ? { ...metadata } : { dataset_split: [...splits], ...metadata },
    runs: [],
    ...(attachments && { attachments: toAttachments(attachments) }),
  } as unknown as Example;
}

/** Converts a dataset. */
export const toDataset = (dataset: MillraceDataset): Dataset =>
  ({
    description: "",
    ...toSnakeCase(dataset, {
      inputsSchema: "inputs_schema_definition",
      outputsSchema: "outputs_schema_definition",
      experimentCount: "session_count",
    }),
  }) as unknown as Dataset;

/** Converts a project. The statistics become members of the project. */
export function toProject({ stats, ...project }: Project): TracerSessionResult {
  return { ...toSnakeCase(project), ...toSnakeCase(stats ?? {}) } as unknown as TracerSessionResult;
}

/** Converts feedback. */
export function toFeedback({ source, ...feedback }: MillraceFeedback): Feedback {
  return {
    run_id: null,
    score: null,
    value: null,
    comment: null,
    correction: null,
    ...toSnakeCase(feedback),
    feedback_source: source,
  } as unknown as Feedback;
}

/** Converts a prompt. */
export function toPrompt(prompt: MillracePrompt): Prompt {
  const { repo, likes, downloads, views, commits, isLiked = false, ...fields } = prompt;
  return {
    ...toSnakeCase(fields),
    repo_handle: repo,
    num_likes: likes,
    num_downloads: downloads,
    num_views: views,
    num_commits: commits,
    liked_by_auth_user: isLiked,
    tags: [...prompt.tags],
  } as unknown as Prompt;
}

/** A commit in a list, without its content. */
export const toListedCommit = ({ downloads, views, ...commit }: MillraceCommit): PromptCommit =>
  ({
    ...toSnakeCase(commit),
    parent_commit_hash: commit.parentCommitHash ?? null,
    num_downloads: downloads,
    num_views: views,
  }) as unknown as PromptCommit;

/** Converts a commit with its content. */
export const toPromptCommit = (
  prompt: Pick<PulledPrompt, "owner" | "repo" | "description" | "examples" | "manifest"> & {
    readonly commitHash?: string | undefined;
    readonly modelConfig?: PulledPrompt["modelConfig"];
    readonly modelProvider?: PulledPrompt["modelProvider"];
  },
): PromptCommit => {
  const { owner, repo, commitHash, manifest, examples, description } = prompt;
  const { modelConfig, modelProvider } = prompt;
  return {
    owner,
    repo,
    commit_hash: commitHash ?? "",
    manifest,
    examples: examples as KVMap[],
    ...(description === undefined ? {} : { description }),
    ...(modelConfig === undefined ? {} : { hub_model_config: modelConfig }),
    ...(modelProvider === undefined ? {} : { hub_model_provider: modelProvider }),
  };
};

/** Converts an annotation queue. */
export const toQueue = ({ rubricItems, ...queue }: MillraceQueue): AnnotationQueueWithDetails =>
  ({
    ...toSnakeCase(queue),
    ...(rubricItems && { rubric_items: rubricItems.map((item) => toSnakeCase(item)) }),
  }) as unknown as AnnotationQueueWithDetails;

/** Converts a run of an annotation queue. */
export const toQueuedRun = ({ run, ...entry }: QueuedRun): RunWithAnnotationQueueInfo => ({
  ...toRun(run),
  ...toSnakeCase(entry),
});

/** Converts a comparison of experiments. */
export const toComparative = ({
  experiments,
  metadata,
  ...fields
}: MillraceComparative): ComparativeExperiment =>
  ({
    ...toSnakeCase(fields),
    extra: { metadata },
    ...(experiments && { experiments_info: experiments.map(({ id, name }) => ({ id, name })) }),
  }) as unknown as ComparativeExperiment;
