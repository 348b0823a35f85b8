import type { FastifyReply, FastifyRequest } from "fastify";
import type { RunQuota } from "./run-quota.ts";
import type { TenantLimits } from "./tenant-limits.ts";

/**
 * Applies the limits of the tenant to a request whose sender is known. What programs record is counted when the request
 * ends: its `Content-Length`, or for a body without one what has arrived at the connection.
 *
 * @throws RequestError 429: the tenant has reached a limit.
 */
export function limitRequest(
  { limits, quota }: { readonly limits: TenantLimits; readonly quota: RunQuota },
  { tenantId, headers, raw, routeOptions }: FastifyRequest,
  reply: FastifyReply,
): void {
  if (routeOptions.config.isUnlimited === true) {
    return;
  }
  limits.admitRequest(tenantId);
  if (routeOptions.config.scope !== "ingest") {
    return;
  }
  limits.admitIngest(tenantId);
  if (routeOptions.config.storesRuns === true) {
    quota.admit(tenantId);
  }
  const { socket } = raw;
  const bytesBefore = socket.bytesRead;
  reply.raw.once("close", () => {
    const length = Number(headers["content-length"]);
    const bytes = Number.isSafeInteger(length) ? length : socket.bytesRead - bytesBefore;
    limits.countIngest(tenantId, bytes);
  });
}
