import { endpoints, uiEndpoints } from "millrace/model";
import type { Endpoint, KeyScope } from "millrace/model";
import { v2Endpoints } from "./v2-endpoints.ts";

/** What a program sends that is watched. */
const ingesting: readonly Endpoint[] = [
  endpoints.createRun,
  endpoints.updateRun,
  endpoints.sendBatch,
  endpoints.sendMultipart,
  endpoints.sendSpans,
  endpoints.createFeedback,
  uiEndpoints.reportStats,
];

/** Requests that only read although their method is POST, because they have a body. */
const reading: readonly Endpoint[] = [
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

/** What concerns the tenant as a whole and not single data. */
const administering: readonly Endpoint[] = [
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

/** The scope that a key needs for an endpoint. An endpoint that is in no list needs `read` for GET, and otherwise `write`. */
export function scopeOf(endpoint: Endpoint): KeyScope {
  if (administering.includes(endpoint)) {
    return "admin";
  }
  if (ingesting.includes(endpoint)) {
    return "ingest";
  }
  return endpoint.method === "GET" || reading.includes(endpoint) ? "read" : "write";
}
