import type { Endpoint } from "millrace/model";

/** Endpoints for the programs that watch a server. */
export const monitoringEndpoints = {
  readLiveness: { method: "GET", path: "/health/live", action: "check that the server runs" },
  readReadiness: { method: "GET", path: "/health/ready", action: "check that the server answers" },
  readServerMetrics: { method: "GET", path: "/metrics", action: "read metrics of the server" },
} as const satisfies Readonly<Record<string, Endpoint>>;
