import type { FastifyReply, FastifyRequest } from "fastify";
import type { ByteQuota } from "./byte-quota.ts";
import type { RunQuota } from "./run-quota.ts";
import type { TenantLimits } from "./tenant-limits.ts";

/**
 * Applies the limits of the tenant to a request whose sender is known. The bytes of runs, spans and feedback are
 * counted when the request ends: its `Content-Length` or, without this header, the bytes that arrived on the
 * connection.
 *
 * @throws RequestError 429: the tenant has reached a limit.
 */
export async function limitRequest(
  {
    limits,
    runQuota,
    byteQuota,
  }: {
    readonly limits: TenantLimits;
    readonly runQuota: RunQuota;
    readonly byteQuota: ByteQuota;
  },
  { tenantId, headers, raw, routeOptions }: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  if (routeOptions.config.isUnlimited === true) {
    return;
  }
  limits.admitRequest(tenantId);
  if (routeOptions.config.scope !== "ingest") {
    return;
  }
  const { socket } = raw;
  // Read this before anything is awaited, because a part of the body may arrive meanwhile.
  const bytesBefore = socket.bytesRead;
  await limits.admitIngest(tenantId);
  const storesRuns = routeOptions.config.storesRuns === true;
  if (storesRuns) {
    runQuota.admit(tenantId);
    byteQuota.admit(tenantId);
  }
  reply.raw.once("close", () => {
    const length = Number(headers["content-length"]);
    const bytes = Number.isSafeInteger(length) ? length : socket.bytesRead - bytesBefore;
    limits.countIngest(tenantId, bytes);
    if (storesRuns) {
      byteQuota.countReceived(tenantId, bytes);
    }
  });
}
