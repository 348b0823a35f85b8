import type { Endpoint } from "./endpoints.ts";

/**
 * Endpoints that only the UI and the local server use, in addition to the public API. They belong
 * to this version of UI and server, and are not part of the OpenAPI description.
 */
export const uiEndpoints = {
  readTrace: { method: "GET", path: "/ui/traces/:id", action: "read trace" },
  /** The path parameter `id` is the id of a run. */
  readTraceRun: { method: "GET", path: "/ui/trace-runs/:id", action: "read run" },
  /** The path parameter `id` of these three is the id of the trace's root. */
  readTraceShare: { method: "GET", path: "/ui/traces/:id/share", action: "read share of trace" },
  shareTrace: { method: "PUT", path: "/ui/traces/:id/share", action: "share trace" },
  unshareTrace: { method: "DELETE", path: "/ui/traces/:id/share", action: "unshare trace" },
  /** These three need no key: the path contains the share token. */
  readShare: { method: "GET", path: "/ui/public/:token", action: "read share" },
  readSharedTrace: {
    method: "GET",
    path: "/ui/public/:token/trace",
    action: "read shared trace",
  },
  readSharedTraceRun: {
    method: "GET",
    path: "/ui/public/:token/runs/:id",
    action: "read run of shared trace",
  },

  readFilterWords: {
    method: "GET",
    path: "/ui/filters/words",
    action: "read filter fields",
  },
  checkFilter: { method: "POST", path: "/ui/filters/check", action: "check a filter" },
  listRunWords: {
    method: "GET",
    path: "/ui/runs/words",
    action: "list filter values",
  },
  searchRuns: { method: "POST", path: "/ui/runs/search", action: "search the runs of a project" },
  countRuns: {
    method: "GET",
    path: "/ui/runs/counts",
    action: "count runs",
  },
  countRunFacets: {
    method: "POST",
    path: "/ui/runs/facets",
    action: "count facet values",
  },
  fetchRunExport: {
    method: "GET",
    path: "/ui/runs/export/:token",
    action: "fetch an export of runs",
  },
  exportRuns: { method: "POST", path: "/ui/runs/export", action: "export runs" },
  listJobs: { method: "GET", path: "/ui/jobs", action: "list jobs" },
  createJob: { method: "POST", path: "/ui/jobs", action: "create job" },
  readJob: { method: "GET", path: "/ui/jobs/:id", action: "read job" },
  cancelJob: { method: "POST", path: "/ui/jobs/:id/cancel", action: "cancel job" },
  retryJob: { method: "POST", path: "/ui/jobs/:id/retry", action: "retry job" },
  listScorers: { method: "GET", path: "/ui/experiments/scorers", action: "list scorers" },
  listExperimentJobs: {
    method: "GET",
    path: "/ui/experiments/jobs",
    action: "list jobs of experiments",
  },
  estimateExperiments: {
    method: "POST",
    path: "/ui/experiments/estimate",
    action: "estimate experiments",
  },
  startExperiments: {
    method: "POST",
    path: "/ui/experiments/start",
    action: "start experiments",
  },
  readMetrics: { method: "GET", path: "/ui/metrics", action: "read metrics of a project" },
  readOverview: { method: "GET", path: "/ui/overview", action: "read the overview" },
  listThreads: { method: "GET", path: "/ui/threads", action: "list threads" },
  listTurns: { method: "GET", path: "/ui/threads/turns", action: "list the turns of a thread" },
  readLive: { method: "GET", path: "/ui/live", action: "watch arriving runs" },
  reportStats: { method: "POST", path: "/ui/senders", action: "report client statistics" },
  readServerFacts: { method: "GET", path: "/ui/server", action: "read server information" },
  readStorage: { method: "GET", path: "/ui/storage", action: "read storage usage" },
  listKeys: { method: "GET", path: "/ui/keys", action: "list keys" },
  createKey: { method: "POST", path: "/ui/keys", action: "create key" },
  revokeKey: { method: "DELETE", path: "/ui/keys/:id", action: "revoke key" },
  /** The command `millrace audit` uses this endpoint too. */
  listAudit: { method: "GET", path: "/ui/audit", action: "read the audit log" },
  exportAudit: { method: "GET", path: "/ui/audit/export", action: "export the audit log" },
  listTenants: { method: "GET", path: "/ui/tenants", action: "list tenants" },
  createTenant: { method: "POST", path: "/ui/tenants", action: "create tenant" },
  listRetention: { method: "GET", path: "/ui/retention", action: "read retention settings" },
  setRetention: { method: "PUT", path: "/ui/retention", action: "set retention settings" },
  /** The command `millrace prices` uses this endpoint and the next three. */
  listPrices: { method: "GET", path: "/ui/prices", action: "list prices" },
  setPrices: { method: "PUT", path: "/ui/prices", action: "set prices" },
  removePrice: { method: "POST", path: "/ui/prices/remove", action: "remove price" },
  recomputeCosts: { method: "POST", path: "/ui/prices/recompute", action: "recompute costs" },
  listPricedModels: {
    method: "GET",
    path: "/ui/prices/models",
    action: "list used models",
  },
  listLibraryPrices: {
    method: "GET",
    path: "/ui/prices/library",
    action: "list public prices",
  },
  listModelEndpoints: { method: "GET", path: "/ui/models", action: "list model endpoints" },
  setModelKey: { method: "PUT", path: "/ui/models/:name/key", action: "set a key for a model" },
  deleteModelKey: {
    method: "DELETE",
    path: "/ui/models/:name/key",
    action: "remove a key for a model",
  },
  callModel: { method: "POST", path: "/ui/models/calls", action: "call a model" },
  listWebhooks: { method: "GET", path: "/ui/webhooks", action: "list webhooks" },
  createWebhook: { method: "POST", path: "/ui/webhooks", action: "create webhook" },
  updateWebhook: { method: "PATCH", path: "/ui/webhooks/:id", action: "update webhook" },
  updateWebhookSecret: {
    method: "POST",
    path: "/ui/webhooks/:id/secret",
    action: "change the secret of webhook",
  },
  deleteWebhook: { method: "DELETE", path: "/ui/webhooks/:id", action: "delete webhook" },
  testWebhook: { method: "POST", path: "/ui/webhooks/:id/test", action: "send a test" },
  listDeliveries: {
    method: "GET",
    path: "/ui/webhooks/:id/deliveries",
    action: "list deliveries of webhook",
  },
  resendDeliveries: {
    method: "POST",
    path: "/ui/webhooks/:id/resend",
    action: "send deliveries again",
  },
  readDelivery: { method: "GET", path: "/ui/deliveries/:id", action: "read delivery" },
  listRules: { method: "GET", path: "/ui/rules", action: "list rules" },
  createRule: { method: "POST", path: "/ui/rules", action: "create rule" },
  updateRule: { method: "PATCH", path: "/ui/rules/:id", action: "update rule" },
  deleteRule: { method: "DELETE", path: "/ui/rules/:id", action: "delete rule" },
  applyRule: { method: "POST", path: "/ui/rules/:id/apply", action: "apply rule to past runs" },
  retryRule: { method: "POST", path: "/ui/rules/:id/retry", action: "retry failed runs of rule" },
  listAlerts: { method: "GET", path: "/ui/alerts", action: "list alerts" },
  createAlert: { method: "POST", path: "/ui/alerts", action: "create alert" },
  updateAlert: { method: "PATCH", path: "/ui/alerts/:id", action: "update alert" },
  deleteAlert: { method: "DELETE", path: "/ui/alerts/:id", action: "delete alert" },
  listAlertHistory: {
    method: "GET",
    path: "/ui/alerts/:id/history",
    action: "list history of alert",
  },
  readFeedbackSummary: {
    method: "GET",
    path: "/ui/feedback",
    action: "read feedback over time",
  },
  readFeedbackForm: {
    method: "GET",
    path: "/ui/feedback-forms/:token",
    action: "read feedback form",
  },

  listComments: { method: "GET", path: "/ui/comments", action: "list comments" },
  createComment: { method: "POST", path: "/ui/comments", action: "write comment" },
  updateComment: { method: "PATCH", path: "/ui/comments/:id", action: "change comment" },
  deleteComment: { method: "DELETE", path: "/ui/comments/:id", action: "delete comment" },
  countDatasetComments: {
    method: "GET",
    path: "/ui/datasets/:id/comments",
    action: "count the comments on the examples of a dataset",
  },
  countTraceComments: {
    method: "GET",
    path: "/ui/traces/:id/comments",
    action: "count the comments of a trace",
  },

  previewExamples: {
    method: "GET",
    path: "/ui/datasets/:id/examples",
    action: "read previews of examples",
  },
  previewDatasetDiff: {
    method: "GET",
    path: "/ui/datasets/:id/diff",
    action: "compare dataset versions",
  },
  compareExperiments: {
    method: "POST",
    path: "/ui/datasets/:id/comparison",
    action: "compare experiments",
    repeatable: true,
  },
  importExamples: { method: "POST", path: "/ui/datasets/:id/import", action: "import examples" },

  listReviewedQueues: {
    method: "GET",
    path: "/ui/annotation-queues",
    action: "list annotation queues with their progress",
  },
  readQueueProgress: {
    method: "GET",
    path: "/ui/annotation-queues/:id/progress",
    action: "read progress of annotation queue",
  },
  listReviewedRuns: {
    method: "GET",
    path: "/ui/annotation-queues/:id/runs",
    action: "list runs of annotation queue with their reviews",
  },
  claimQueueRun: {
    method: "POST",
    path: "/ui/annotation-queues/:id/claim",
    action: "claim run of annotation queue",
  },
  releaseQueueRun: {
    method: "POST",
    path: "/ui/annotation-queues/:id/runs/:queueRunId/release",
    action: "release run of annotation queue",
  },
  finishQueueRun: {
    method: "POST",
    path: "/ui/annotation-queues/:id/runs/:queueRunId/done",
    action: "finish run of annotation queue",
  },
  reopenQueueRun: {
    method: "POST",
    path: "/ui/annotation-queues/:id/runs/:queueRunId/reopen",
    action: "reopen run of annotation queue",
  },
} as const satisfies Record<string, Endpoint>;

/** The name of an endpoint in {@link uiEndpoints}. */
export type UiEndpointName = keyof typeof uiEndpoints;
