import type { FastifyReply, FastifyRequest } from "fastify";
import { Type } from "typebox";
import type { Static } from "typebox";
import { parseId } from "../http/query-string.ts";
import type { Senders } from "./senders.ts";

const Count = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });

/** Body of `POST /ui/senders`. */
export const senderBody = Type.Object({
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

export type SenderBody = Static<typeof senderBody>;

/** `POST /ui/senders`: stores the counts that an SDK client reports. */
export async function reportSender(
  senders: Senders,
  { tenantId, body }: FastifyRequest<{ Body: SenderBody }>,
  reply: FastifyReply,
): Promise<unknown> {
  const id = parseId(body.id, "id");
  const { project, pid, version, accepted, delivered, rejected, dropped, spooled, pending } = body;
  const counts = { accepted, delivered, rejected, dropped, spooled, pending };
  senders.report(tenantId, { id, project, pid, version, ...counts });
  return reply.code(202).send({});
}
