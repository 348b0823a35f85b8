import type { Endpoint } from "millrace/model";

/** Endpoints that newer LangSmith clients call. The Millrace SDK does not use them. */
export const v2Endpoints = {
  queryV2Runs: { method: "POST", path: "/api/v2/runs/query", action: "query runs" },
  readV2Run: { method: "GET", path: "/api/v2/runs/:id", action: "read run" },
  readV2RunUrl: { method: "GET", path: "/api/v2/runs/:id/url", action: "read the run's page" },
  shareV2Run: { method: "POST", path: "/api/v2/runs/:id/share", action: "share run" },
  unshareV2Run: { method: "DELETE", path: "/api/v2/runs/:id/share", action: "unshare run" },
  shareV2Thread: { method: "POST", path: "/api/v2/threads/:id/share", action: "share thread" },
  readV2ThreadShare: { method: "GET", path: "/api/v2/threads/:id/share", action: "read share" },
  unshareV2Thread: {
    method: "DELETE",
    path: "/api/v2/threads/:id/share",
    action: "unshare thread",
  },
  listV2TraceRuns: {
    method: "GET",
    path: "/api/v2/traces/:id/runs",
    action: "list a trace's runs",
  },
  queryV2Threads: { method: "POST", path: "/api/v2/threads/query", action: "query threads" },
  listV2ThreadTraces: { method: "GET", path: "/api/v2/threads/:id/traces", action: "list traces" },
  queryV2Traces: { method: "POST", path: "/api/v2/traces/query", action: "query traces" },
  readV2ThreadsStats: { method: "POST", path: "/api/v2/threads/stats", action: "read statistics" },
  listV2Projects: { method: "GET", path: "/api/v2/sessions", action: "list projects" },
  listV2Datasets: { method: "GET", path: "/api/v2/datasets", action: "list datasets" },
  queryV2ExperimentRuns: {
    method: "POST",
    path: "/api/v2/datasets/:id/experiment-runs",
    action: "query the runs of experiments",
  },
  readV2PublicRun: {
    method: "GET",
    path: "/api/v2/public/:token/run/:id",
    action: "read shared run",
  },
  queryV2PublicRuns: {
    method: "POST",
    path: "/api/v2/public/:token/runs/query",
    action: "query shared runs",
  },
  readV2ThreadStats: {
    method: "GET",
    path: "/api/v2/threads/:id/stats",
    action: "read statistics",
  },
} as const satisfies Record<string, Endpoint>;
