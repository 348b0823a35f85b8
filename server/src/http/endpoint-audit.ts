import { endpoints, uiEndpoints } from "millrace/model";
import type { Endpoint } from "millrace/model";
import { v2Endpoints } from "./v2-endpoints.ts";

const allEndpoints = { ...endpoints, ...uiEndpoints, ...v2Endpoints };

type EndpointTable = typeof allEndpoints;
type EndpointName = keyof EndpointTable;

/** The names of the endpoints that can change something. */
type ChangingName = {
  [Name in EndpointName]: EndpointTable[Name]["method"] extends "GET" ? never : Name;
}[EndpointName];

/** An endpoint whose calls are audited. The audit log records the parameters of the path, and the targets. */
export interface AuditedEndpoint {
  /**
   * Members of the body, or query parameters, that name what the request acts on: they contain one id or name, or a
   * list of them. `a.b` is the member `b` of each object in the list `a`.
   */
  readonly targets?: readonly string[];
}

/** An endpoint whose calls are not audited, with the reason. */
interface UnauditedEndpoint {
  readonly reason: string;
}

const audited: AuditedEndpoint = {};
const auditedWith = (...targets: readonly string[]): AuditedEndpoint => ({ targets });

const ingest: UnauditedEndpoint = { reason: "Ingest: what programs record is not audited." };
const readOnly: UnauditedEndpoint = {
  reason: "It only reads; the method is POST because it has a body.",
};
const reviewStep: UnauditedEndpoint = {
  reason: "A step of a review: the review itself is stored with its reviewer and time.",
};
const comment: UnauditedEndpoint = { reason: "A comment is stored with its author and its times." };
const modelCall: UnauditedEndpoint = {
  reason: "A model call: calls and costs are counted by day.",
};

/**
 * For each endpoint that can change something: whether the audit log records its calls, or else why not. The compiler
 * reports an error if an endpoint is missing.
 */
const changingEndpoints: Readonly<Record<ChangingName, AuditedEndpoint | UnauditedEndpoint>> = {
  createRun: ingest,
  updateRun: ingest,
  sendBatch: ingest,
  sendMultipart: ingest,
  sendSpans: ingest,
  createFeedback: ingest,
  giveFeedback: ingest,
  reportStats: ingest,

  queryRuns: readOnly,
  runStats: readOnly,
  searchDataset: readOnly,
  readDatasetRuns: readOnly,
  checkExamples: readOnly,
  checkFilter: readOnly,
  searchRuns: readOnly,
  countRunFacets: readOnly,
  compareExperiments: readOnly,
  estimateExperiments: readOnly,
  queryV2Runs: readOnly,
  queryV2Threads: readOnly,
  queryV2Traces: readOnly,
  readV2ThreadsStats: readOnly,
  queryV2ExperimentRuns: readOnly,
  queryV2PublicRuns: readOnly,

  createComment: comment,
  updateComment: comment,
  deleteComment: audited,

  claimQueueRun: reviewStep,
  releaseQueueRun: reviewStep,
  finishQueueRun: reviewStep,
  reopenQueueRun: reviewStep,
  updateAnnotationQueueRun: reviewStep,

  callModel: modelCall,
  likePrompt: { reason: "A like changes no data of the team." },

  createKey: auditedWith("tenant_id"),
  revokeKey: audited,
  createTenant: auditedWith("handle"),
  setTenantHandle: auditedWith("tenant_handle"),
  setRetention: auditedWith("project_id"),
  setPrices: audited,
  removePrice: auditedWith("model"),
  recomputeCosts: audited,
  setModelKey: audited,
  deleteModelKey: audited,

  createProject: auditedWith("name"),
  updateProject: audited,
  deleteProject: audited,
  deleteProjects: auditedWith("session_ids"),
  createView: audited,
  updateView: audited,
  deleteView: audited,

  createDataset: auditedWith("name"),
  updateDataset: audited,
  deleteDataset: audited,
  deleteDatasets: auditedWith("dataset_ids"),
  uploadDataset: audited,
  importExamples: audited,
  tagDatasetVersion: auditedWith("tag"),
  updateDatasetSplits: auditedWith("split_name"),
  indexDataset: audited,
  createExample: auditedWith("dataset_id"),
  createExamples: audited,
  updateExample: audited,
  updateExamples: audited,
  uploadExamples: audited,
  updateUploadedExamples: audited,
  deleteExample: audited,
  deleteExamples: auditedWith("example_ids"),
  removeExamples: auditedWith("example_ids"),
  createComparative: auditedWith("experiment_ids"),

  updateFeedback: audited,
  deleteFeedback: audited,
  createFeedbackToken: auditedWith("run_id"),

  createAnnotationQueue: auditedWith("name"),
  updateAnnotationQueue: audited,
  deleteAnnotationQueue: audited,
  deleteAnnotationQueues: auditedWith("queue_ids"),
  addAnnotationQueueRuns: audited,
  addAnnotationQueueRunsByKey: audited,
  removeAnnotationQueueRun: audited,

  createPrompt: auditedWith("repo_handle"),
  updatePrompt: audited,
  deletePrompt: audited,
  deletePrompts: auditedWith("repo_ids"),
  createCommit: audited,
  createPromptTag: auditedWith("tag_name"),
  updatePromptTag: audited,
  deletePromptTag: audited,

  shareRun: audited,
  unshareRun: audited,
  shareTrace: audited,
  unshareTrace: audited,
  shareDataset: audited,
  unshareDataset: audited,
  shareV2Run: audited,
  unshareV2Run: audited,
  shareV2Thread: audited,
  unshareV2Thread: audited,

  exportRuns: auditedWith("session"),
  createJob: auditedWith("kind"),
  cancelJob: audited,
  retryJob: audited,
  startExperiments: auditedWith("dataset_id", "targets.endpoint", "judges.endpoint"),

  createWebhook: audited,
  updateWebhook: audited,
  updateWebhookSecret: audited,
  deleteWebhook: audited,
  testWebhook: audited,
  resendDeliveries: audited,
  createRule: auditedWith("session_id"),
  updateRule: audited,
  deleteRule: audited,
  applyRule: audited,
  retryRule: audited,
  createAlert: auditedWith("session_id"),
  updateAlert: audited,
  deleteAlert: audited,
};

/** Endpoints that only read, but whose calls take data out of the server. */
const exportingEndpoints = {
  exportDatasetOpenAi: audited,
  exportDatasetCsv: audited,
  exportDatasetJsonl: audited,
  exportAudit: audited,
} as const satisfies { readonly [Name in EndpointName]?: AuditedEndpoint };

const namesByEndpoint = new Map<Endpoint, string>(
  Object.entries(allEndpoints).map(([name, endpoint]) => [endpoint, name]),
);

/** All endpoints that the audit log covers or excludes, by name. */
export const auditRules: Readonly<Record<string, AuditedEndpoint | UnauditedEndpoint>> = {
  ...changingEndpoints,
  ...exportingEndpoints,
};

/** An audited action: its name, and where its targets are. */
export interface AuditedAction extends AuditedEndpoint {
  readonly name: string;
}

/** Returns the audited action of an endpoint; `undefined` if its calls are not audited. */
export function auditOf(endpoint: Endpoint): AuditedAction | undefined {
  const name = namesByEndpoint.get(endpoint) ?? "";
  const rule = Object.hasOwn(auditRules, name) ? auditRules[name] : undefined;
  return rule === undefined || "reason" in rule ? undefined : { name, ...rule };
}

/** The names of all audited actions. */
export const auditedActions: readonly string[] = Object.entries(auditRules)
  .filter(([, rule]) => !("reason" in rule))
  .map(([name]) => name);

/** What an action does, in words, such as "create key". */
export const describeAction = (name: string): string =>
  Object.hasOwn(allEndpoints, name) ? allEndpoints[name as EndpointName].action : name;
