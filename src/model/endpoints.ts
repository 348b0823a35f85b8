/** One endpoint of the API. */
export interface Endpoint {
  readonly method: "GET" | "POST" | "PATCH" | "PUT" | "DELETE";
  /** Path below the base URL. `:name` is a path parameter. */
  readonly path: string;
  /** Description for error messages, as in `Failed to <action>`. */
  readonly action: string;
  /**
   * Set for a POST that may safely be sent twice: it only reads, or its body identifies what it
   * creates.
   */
  readonly repeatable?: true;
}

/** The endpoints of the public API. The client and the server both use this table. */
export const endpoints = {
  readInfo: { method: "GET", path: "/info", action: "read server info" },
  createRun: { method: "POST", path: "/runs", action: "send a run" },
  updateRun: { method: "PATCH", path: "/runs/:id", action: "update a run" },
  sendBatch: { method: "POST", path: "/runs/batch", action: "send runs" },
  sendMultipart: { method: "POST", path: "/runs/multipart", action: "send runs" },
  readRun: { method: "GET", path: "/runs/:id", action: "read run" },
  queryRuns: { method: "POST", path: "/runs/query", action: "query runs", repeatable: true },
  runStats: {
    method: "POST",
    path: "/runs/stats",
    action: "read run statistics",
    repeatable: true,
  },
  readRunShare: { method: "GET", path: "/runs/:id/share", action: "read the run's share" },
  shareRun: { method: "PUT", path: "/runs/:id/share", action: "share run" },
  unshareRun: { method: "DELETE", path: "/runs/:id/share", action: "unshare run" },
  readSharedRun: { method: "GET", path: "/public/:token/run", action: "read shared run" },
  listProjects: { method: "GET", path: "/sessions", action: "list projects" },
  readProject: { method: "GET", path: "/sessions/:id", action: "read project" },
  createProject: { method: "POST", path: "/sessions", action: "create project" },
  updateProject: { method: "PATCH", path: "/sessions/:id", action: "update project" },
  deleteProject: { method: "DELETE", path: "/sessions/:id", action: "delete project" },
  deleteProjects: { method: "DELETE", path: "/sessions", action: "delete projects" },
  listViews: { method: "GET", path: "/sessions/:id/views", action: "list views of a project" },
  createView: { method: "POST", path: "/sessions/:id/views", action: "create view" },
  readView: { method: "GET", path: "/sessions/:id/views/:viewId", action: "read view" },
  updateView: { method: "PATCH", path: "/sessions/:id/views/:viewId", action: "update view" },
  deleteView: { method: "DELETE", path: "/sessions/:id/views/:viewId", action: "delete view" },

  listDatasets: { method: "GET", path: "/datasets", action: "list datasets" },
  createDataset: { method: "POST", path: "/datasets", action: "create dataset" },
  deleteDatasets: { method: "DELETE", path: "/datasets", action: "delete datasets" },
  uploadDataset: { method: "POST", path: "/datasets/upload", action: "upload dataset" },
  readDataset: { method: "GET", path: "/datasets/:id", action: "read dataset" },
  updateDataset: { method: "PATCH", path: "/datasets/:id", action: "update dataset" },
  deleteDataset: { method: "DELETE", path: "/datasets/:id", action: "delete dataset" },
  readDatasetShare: { method: "GET", path: "/datasets/:id/share", action: "read dataset share" },
  shareDataset: { method: "PUT", path: "/datasets/:id/share", action: "share dataset" },
  unshareDataset: { method: "DELETE", path: "/datasets/:id/share", action: "unshare dataset" },
  listDatasetVersions: {
    method: "GET",
    path: "/datasets/:id/versions",
    action: "list dataset versions",
  },
  diffDatasetVersions: {
    method: "GET",
    path: "/datasets/:id/versions/diff",
    action: "compare dataset versions",
  },
  readDatasetVersion: {
    method: "GET",
    path: "/datasets/:id/version",
    action: "read dataset version",
  },
  tagDatasetVersion: { method: "PUT", path: "/datasets/:id/tags", action: "tag dataset version" },
  listDatasetSplits: { method: "GET", path: "/datasets/:id/splits", action: "list dataset splits" },
  updateDatasetSplits: {
    method: "PUT",
    path: "/datasets/:id/splits",
    action: "update dataset splits",
  },
  exportDatasetOpenAi: {
    method: "GET",
    path: "/datasets/:id/openai_ft",
    action: "export dataset for fine-tuning",
  },
  exportDatasetCsv: { method: "GET", path: "/datasets/:id/csv", action: "export dataset as CSV" },
  exportDatasetJsonl: {
    method: "GET",
    path: "/datasets/:id/jsonl",
    action: "export dataset as JSON lines",
  },
  indexDataset: {
    method: "POST",
    path: "/datasets/:id/index",
    action: "index dataset",
    repeatable: true,
  },
  searchDataset: {
    method: "POST",
    path: "/datasets/:id/search",
    action: "search dataset",
    repeatable: true,
  },
  createComparative: {
    method: "POST",
    path: "/datasets/comparative",
    action: "create comparative experiment",
  },
  listComparatives: {
    method: "GET",
    path: "/datasets/:id/comparative",
    action: "list comparative experiments",
  },
  readDatasetRuns: {
    method: "POST",
    path: "/datasets/:id/runs",
    action: "read runs of experiments",
    repeatable: true,
  },
  readSharedDataset: {
    method: "GET",
    path: "/public/:token/datasets",
    action: "read shared dataset",
  },
  listSharedExamples: {
    method: "GET",
    path: "/public/:token/examples",
    action: "list shared examples",
  },
  countSharedExamples: {
    method: "GET",
    path: "/public/:token/examples/count",
    action: "count shared examples",
  },

  listExamples: { method: "GET", path: "/examples", action: "list examples" },
  createExample: { method: "POST", path: "/examples", action: "create example" },
  deleteExamples: { method: "DELETE", path: "/examples", action: "delete examples" },
  countExamples: { method: "GET", path: "/examples/count", action: "count examples" },
  createExamples: { method: "POST", path: "/examples/bulk", action: "create examples" },
  updateExamples: { method: "PATCH", path: "/examples/bulk", action: "update examples" },
  readExample: { method: "GET", path: "/examples/:id", action: "read example" },
  updateExample: { method: "PATCH", path: "/examples/:id", action: "update example" },
  deleteExample: { method: "DELETE", path: "/examples/:id", action: "delete example" },
  uploadExamples: {
    method: "POST",
    path: "/v1/platform/datasets/:id/examples",
    action: "create examples",
  },
  updateUploadedExamples: {
    method: "PATCH",
    path: "/v1/platform/datasets/:id/examples",
    action: "update examples",
  },
  removeExamples: {
    method: "POST",
    path: "/v1/platform/datasets/examples/delete",
    action: "delete examples",
    repeatable: true,
  },

  listFeedback: { method: "GET", path: "/feedback", action: "list feedback" },
  createFeedback: { method: "POST", path: "/feedback", action: "create feedback" },
  readFeedback: { method: "GET", path: "/feedback/:id", action: "read feedback" },
  updateFeedback: { method: "PATCH", path: "/feedback/:id", action: "update feedback" },
  deleteFeedback: { method: "DELETE", path: "/feedback/:id", action: "delete feedback" },
  createFeedbackToken: {
    method: "POST",
    path: "/feedback/tokens",
    action: "create feedback token",
  },
  listFeedbackTokens: { method: "GET", path: "/feedback/tokens", action: "list feedback tokens" },
  giveFeedback: { method: "POST", path: "/feedback/tokens/:token", action: "give feedback" },
  giveFeedbackByLink: { method: "GET", path: "/feedback/tokens/:token", action: "give feedback" },

  listAnnotationQueues: {
    method: "GET",
    path: "/annotation-queues",
    action: "list annotation queues",
  },
  createAnnotationQueue: {
    method: "POST",
    path: "/annotation-queues",
    action: "create annotation queue",
  },
  deleteAnnotationQueues: {
    method: "DELETE",
    path: "/annotation-queues",
    action: "delete annotation queues",
  },
  readAnnotationQueue: {
    method: "GET",
    path: "/annotation-queues/:id",
    action: "read annotation queue",
  },
  updateAnnotationQueue: {
    method: "PATCH",
    path: "/annotation-queues/:id",
    action: "update annotation queue",
  },
  deleteAnnotationQueue: {
    method: "DELETE",
    path: "/annotation-queues/:id",
    action: "delete annotation queue",
  },
  listAnnotationQueueRuns: {
    method: "GET",
    path: "/annotation-queues/:id/runs",
    action: "list runs of annotation queue",
  },
  addAnnotationQueueRuns: {
    method: "POST",
    path: "/annotation-queues/:id/runs",
    action: "add runs to annotation queue",
    repeatable: true,
  },
  addAnnotationQueueRunsByKey: {
    method: "POST",
    path: "/annotation-queues/:id/runs/by-key",
    action: "add runs to annotation queue",
    repeatable: true,
  },
  updateAnnotationQueueRun: {
    method: "PATCH",
    path: "/annotation-queues/:id/runs/:queueRunId",
    action: "update run of annotation queue",
  },
  removeAnnotationQueueRun: {
    method: "DELETE",
    path: "/annotation-queues/:id/runs/:queueRunId",
    action: "remove run from annotation queue",
  },
  readAnnotationQueueRun: {
    method: "GET",
    path: "/annotation-queues/:id/run/:index",
    action: "read run of annotation queue",
  },
  readAnnotationQueueSize: {
    method: "GET",
    path: "/annotation-queues/:id/size",
    action: "read size of annotation queue",
  },
  /** The path parameter `id` is the id of a run. */
  listQueuesOfRun: {
    method: "GET",
    path: "/annotation-queues/:id/queues",
    action: "list annotation queues of run",
  },

  listPrompts: { method: "GET", path: "/repos", action: "list prompts" },
  createPrompt: { method: "POST", path: "/repos", action: "create prompt" },
  deletePrompts: { method: "DELETE", path: "/repos", action: "delete prompts" },
  readPrompt: { method: "GET", path: "/repos/:owner/:repo", action: "read prompt" },
  updatePrompt: { method: "PATCH", path: "/repos/:owner/:repo", action: "update prompt" },
  deletePrompt: { method: "DELETE", path: "/repos/:owner/:repo", action: "delete prompt" },
  listPromptTags: { method: "GET", path: "/repos/:owner/:repo/tags", action: "list prompt tags" },
  createPromptTag: { method: "POST", path: "/repos/:owner/:repo/tags", action: "tag prompt" },
  readPromptTag: {
    method: "GET",
    path: "/repos/:owner/:repo/tags/:tag",
    action: "read prompt tag",
  },
  updatePromptTag: {
    method: "PATCH",
    path: "/repos/:owner/:repo/tags/:tag",
    action: "update prompt tag",
  },
  deletePromptTag: {
    method: "DELETE",
    path: "/repos/:owner/:repo/tags/:tag",
    action: "delete prompt tag",
  },
  likePrompt: {
    method: "POST",
    path: "/likes/:owner/:repo",
    action: "like prompt",
    repeatable: true,
  },
  listCommits: { method: "GET", path: "/commits/:owner/:repo", action: "list commits" },
  createCommit: { method: "POST", path: "/commits/:owner/:repo", action: "create commit" },
  readCommit: {
    method: "GET",
    path: "/commits/:owner/:repo/:commit",
    action: "pull prompt commit",
  },

  /**
   * Only Millrace's server has this endpoint. The server announces it in the response of `/info` with the flag
   * `examples_check_enabled`.
   */
  checkExamples: {
    method: "POST",
    path: "/datasets/:id/examples/check",
    action: "check examples",
    repeatable: true,
  },

  readSettings: { method: "GET", path: "/settings", action: "read settings" },
  setTenantHandle: { method: "POST", path: "/settings/handle", action: "set tenant handle" },
  sendSpans: { method: "POST", path: "/otel/v1/traces", action: "send spans" },
} as const satisfies Record<string, Endpoint>;

/** The name of an endpoint in {@link endpoints}. */
export type EndpointName = keyof typeof endpoints;
