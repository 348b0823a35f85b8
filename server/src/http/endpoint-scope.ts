import { endpoints, uiEndpoints } from "millrace/model";
import type { Endpoint, KeyScope } from "millrace/model";
import { v2Endpoints } from "./v2-endpoints.ts";

/** Endpoints to which instrumented programs send runs, spans, feedback and statistics. */
const ingestEndpoints: readonly Endpoint[] = [
  endpoints.createRun,
  endpoints.updateRun,
  endpoints.sendBatch,
  endpoints.sendMultipart,
  endpoints.sendSpans,
  endpoints.createFeedback,
  uiEndpoints.reportStats,
];

/** Endpoints that only read. Their method is POST because their requests have a body. */
const readingEndpoints: readonly Endpoint[] = [
  endpoints.queryRuns,
  endpoints.runStats,
  endpoints.searchDataset,
  endpoints.readDatasetRuns,
  endpoints.checkExamples,
  uiEndpoints.checkFilter,
  uiEndpoints.searchRuns,
  uiEndpoints.countRunFacets,
  uiEndpoints.exportRuns,
  uiEndpoints.compareExperiments,
  uiEndpoints.estimateExperiments,
  v2Endpoints.queryV2Runs,
  v2Endpoints.queryV2Threads,
  v2Endpoints.queryV2Traces,
  v2Endpoints.readV2ThreadsStats,
  v2Endpoints.queryV2ExperimentRuns,
];

/** Endpoints that manage the tenant as a whole. */
const adminEndpoints: readonly Endpoint[] = [
  endpoints.setTenantHandle,
  uiEndpoints.listKeys,
  uiEndpoints.createKey,
  uiEndpoints.revokeKey,
  uiEndpoints.createTenant,
  uiEndpoints.listAudit,
  uiEndpoints.exportAudit,
  uiEndpoints.setRetention,
  uiEndpoints.setPrices,
  uiEndpoints.removePrice,
  uiEndpoints.recomputeCosts,
];

/**
 * The scope that a key needs for an endpoint. An endpoint that is in no list needs `read` for GET, and otherwise
 * `write`.
 */
export function scopeOf(endpoint: Endpoint): KeyScope {
  if (adminEndpoints.includes(endpoint)) {
    return "admin";
  }
  if (ingestEndpoints.includes(endpoint)) {
    return "ingest";
  }
  return endpoint.method === "GET" || readingEndpoints.includes(endpoint) ? "read" : "write";
}
