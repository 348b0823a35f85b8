import type { FastifyReply, FastifyRequest } from "fastify";
import { Type } from "typebox";
import type { Static } from "typebox";
import { RequestError } from "../errors.ts";
import { Maybe } from "../http/schema-parts.ts";
import { v2PublicFields } from "../view/v2-run-json.ts";
import { all, parseId } from "./query-string.ts";
import type { RunDesk } from "./runs.ts";
import { sendPage } from "./v2-page.ts";
import { idOf, parseSelects, queryOf, readV2Runs, sendV2Run } from "./v2-runs.ts";

/** Body of `POST /api/v2/public/{token}/runs/query`. */
export const v2PublicQueryBody = Type.Object({
  selects: Maybe(Type.Array(Type.String({ maxLength: 64 }), { maxItems: 200 })),
});

/** `POST /api/v2/public/{token}/runs/query`: the run that the token is of. A share is of one run, not of its trace. */
export async function queryV2PublicRuns(
  desk: RunDesk,
  request: FastifyRequest<{ Body: Static<typeof v2PublicQueryBody> }>,
  reply: FastifyReply,
): Promise<unknown> {
  const selects = parseSelects(request.body.selects ?? [], v2PublicFields);
  const { tenantId, row } = await findShared(desk, request);
  const { protocol, host } = request;
  const whose = { tenantId, protocol, host };
  const { items } = await readV2Runs(desk, whose, { asked: { id: [row.id] }, selects });
  return sendPage(request, reply, { items, next: null });
}

/** `GET /api/v2/public/{token}/run/{id}`. */
export async function readV2PublicRun(
  desk: RunDesk,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<unknown> {
  const selects = parseSelects(all(queryOf(request), "selects") ?? [], v2PublicFields);
  const run = await findShared(desk, request);
  if (run.row.id !== idOf(request)) {
    throw new RequestError(404, "Run not found");
  }
  const { protocol, host } = request;
  const whose = { tenantId: run.tenantId, protocol, host };
  return sendV2Run(desk, whose, { reply, run, selects });
}

/** @throws RequestError 404: no run is shared under the token. */
async function findShared({ store }: RunDesk, request: FastifyRequest) {
  const { token } = request.params as { readonly token: string };
  const run = await store.read.runs.findShared(parseId(token, "share token"));
  if (run === undefined) {
    throw new RequestError(404, "Run not found");
  }
  return run;
}
