import type { WithLinks } from "../http/signed-links.ts";
import type { Store } from "../store/store.ts";
import type { FastifyReply, FastifyRequest } from "fastify";
import { Type } from "typebox";
import type { Static } from "typebox";
import { RequestError } from "../model/errors.ts";
import { Maybe } from "../http/schema-parts.ts";
import { readToken } from "../storage/share-token.ts";
import type { SharedThread } from "../shares/share.ts";
import { firstValue, parseId } from "../http/query-string.ts";
import { readRunId, readQuery, readV2Runs } from "./v2-runs.ts";

const Id = Type.String({ maxLength: 64 });

/** Body of `POST /api/v2/runs/{id}/share`. */
export const v2ShareBody = Maybe(
  Type.Object({ session_id: Maybe(Id), project_id: Maybe(Id), trace_id: Maybe(Id) }),
);

/** Body of `POST /api/v2/threads/{id}/share`. */
export const v2ThreadShareBody = Maybe(
  Type.Object({ session_id: Maybe(Id), project_id: Maybe(Id) }),
);

/** `POST /api/v2/runs/{id}/share`: shares the run's whole trace. Repeating the request returns the same token. */
export async function shareV2Run(
  { store }: WithLinks<Store>,
  request: FastifyRequest<{ Body: Static<typeof v2ShareBody> }>,
): Promise<unknown> {
  const { tenantId, body } = request;
  const run = await store.read.runs.find(tenantId, readRunId(request));
  const root = run && (await store.read.runs.find(tenantId, run.row.traceId));
  const requestedProjectId = parseFirstId([
    ["session_id", body?.session_id],
    ["project_id", body?.project_id],
  ]);
  const requestedTraceId = body?.trace_id ?? undefined;
  const matchesRequest =
    root !== undefined &&
    (requestedTraceId === undefined || parseId(requestedTraceId, "trace_id") === root.row.id) &&
    (requestedProjectId === undefined ||
      [root, run].some((candidate) => candidate?.row.projectId === requestedProjectId));
  if (!matchesRequest) {
    throw new RequestError(404, "Run not found");
  }
  return { share_token: await store.write.shares.shareTrace(tenantId, root.row.id) };
}

/**
 * `DELETE /api/v2/runs/{id}/share`: stops sharing the trace. Succeeds even if it is not shared. A share of the run
 * alone is not removed.
 */
export async function unshareV2Run(
  { store }: WithLinks<Store>,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<unknown> {
  const id = readRunId(request);
  const run = await store.read.runs.find(request.tenantId, id);
  await store.write.shares.unshareTrace(request.tenantId, run?.row.traceId ?? id);
  return reply.code(204).send();
}

/** `POST /api/v2/threads/{id}/share`: shares a thread. Repeating the request returns the same token. */
export async function shareV2Thread(
  dependencies: WithLinks<Store>,
  request: FastifyRequest<{ Body: Static<typeof v2ThreadShareBody> }>,
): Promise<unknown> {
  const { projectId, threadId } = parseThread(request, request.body ?? {});
  const { runs } = await readV2Runs(dependencies, request, {
    v1Query: {
      session: [projectId],
      is_root: true,
      filter: `eq(thread_id, ${JSON.stringify(threadId)})`,
      limit: 1,
    },
    selects: [],
  });
  if (runs.length === 0) {
    throw new RequestError(404, "Thread not found");
  }
  const { tenantId } = request;
  return {
    share_token: await dependencies.store.write.shares.shareThread(tenantId, {
      projectId,
      threadId,
    }),
  };
}

/**
 * `GET /api/v2/threads/{id}/share`: returns the token. The response does not contain one if the thread is not shared.
 */
export async function readV2ThreadShare(
  { store }: WithLinks<Store>,
  request: FastifyRequest,
): Promise<unknown> {
  const token = readToken(
    await store.read.shares.findThreadToken(request.tenantId, parseThread(request)),
  );
  return token === null ? {} : { share_token: token };
}

/**
 * `DELETE /api/v2/threads/{id}/share`: stops sharing a thread. Succeeds even if it is not shared or has no runs any
 * more.
 */
export async function unshareV2Thread(
  { store }: WithLinks<Store>,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<unknown> {
  await store.write.shares.unshareThread(request.tenantId, parseThread(request));
  return reply.code(204).send();
}

function parseThread(
  request: FastifyRequest,
  body: NonNullable<Static<typeof v2ThreadShareBody>> = {},
): SharedThread {
  const { id } = request.params as { readonly id: string };
  const query = readQuery(request);
  const projectId = parseFirstId([
    ["project_id", body.project_id],
    ["session_id", body.session_id],
    ["project_id", firstValue(query, "project_id")],
    ["session_id", firstValue(query, "session_id")],
  ]);
  return { projectId: projectId ?? parseId(undefined, "project_id"), threadId: id };
}

/**
 * Parses the first id that is present, of several parameters with the same meaning; `undefined` if all are absent.
 *
 * @throws RequestError 422: it is not a UUID. The error names the parameter.
 */
function parseFirstId(
  parameters: readonly (readonly [name: string, id: string | null | undefined])[],
): string | undefined {
  const [name, id] = parameters.find(([, value]) => (value ?? undefined) !== undefined) ?? [];
  return name === undefined ? undefined : parseId(id, name);
}
