import type { FastifyReply, FastifyRequest } from "fastify";
import { Type } from "typebox";
import type { Static } from "typebox";
import { parseId } from "../http/query-string.ts";
import type { SdkClients } from "./sdk-clients.ts";

const Count = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });

/** Body of `POST /ui/senders`. */
export const sdkClientBody = Type.Object({
  id: Type.String({ maxLength: 64 }),
  project: Type.String({ maxLength: 1_024 }),
  pid: Count,
  version: Type.String({ maxLength: 64 }),
  accepted: Count,
  delivered: Count,
  rejected: Count,
  dropped: Count,
  spooled: Count,
  pending: Count,
});

export type SdkClientBody = Static<typeof sdkClientBody>;

/** `POST /ui/senders`: stores how many records an SDK client reports as accepted, delivered, rejected and so on. */
export async function reportSdkClient(
  clients: SdkClients,
  { tenantId, body }: FastifyRequest<{ Body: SdkClientBody }>,
  reply: FastifyReply,
): Promise<unknown> {
  const id = parseId(body.id, "id");
  const { project, pid, version, accepted, delivered, rejected, dropped, spooled, pending } = body;
  const counts = { accepted, delivered, rejected, dropped, spooled, pending };
  clients.report(tenantId, { id, project, pid, version, ...counts });
  return reply.code(202).send({});
}
