import type { WithLinks } from "../http/signed-links.ts";
import type { Store } from "../store/store.ts";
import type { FastifyReply, FastifyRequest } from "fastify";
import { Type } from "typebox";
import type { Static } from "typebox";
import { RequestError } from "../model/errors.ts";
import { Maybe } from "../http/schema-parts.ts";
import type { StoredRun } from "../runs/run-row.ts";
import type { SharedScope } from "../shares/share.ts";
import { v2PublicFields } from "./v2-run-json.ts";
import { allValues, parseId } from "../http/query-string.ts";
import { toCursor } from "../runs/run-cursor.ts";
import { pageMembers, sendPage } from "./v2-page.ts";
import {
  readRunId,
  parseSelects,
  readQuery,
  maxRunsPerRead,
  readV2Runs,
  sendV2Run,
} from "./v2-runs.ts";
import type { V1RunQuery } from "./v2-runs.ts";

/**
 * Maximum number of runs in one response if the client passes no `page_size`: clients treat that response as
 * complete.
 */
const maxRuns = 1_000;
/** Bytes of runs after which a response ends with a cursor. */
const maxBytes = 8 * 1_048_576;

/** Body of `POST /api/v2/public/{token}/runs/query`. */
export const v2PublicQueryBody = Type.Object({
  selects: Maybe(Type.Array(Type.String({ maxLength: 64 }), { maxItems: 200 })),
  ...pageMembers,
});

/** `POST /api/v2/public/{token}/runs/query`: returns the runs to which the token gives access, by start time. */
export async function queryV2PublicRuns(
  dependencies: WithLinks<Store>,
  request: FastifyRequest<{ Body: Static<typeof v2PublicQueryBody> }>,
  reply: FastifyReply,
): Promise<unknown> {
  const { body, baseUrl } = request;
  const selects = parseSelects(body.selects ?? [], v2PublicFields);
  const scope = await findScope(dependencies, request);
  const readContext = { tenantId: scope.tenantId, baseUrl };
  const maxItems = body.page_size ?? maxRuns;
  const readRunsPage = scope.kind === "thread" ? readThreadRuns : readRuns;
  const items: Buffer[] = [];
  let bytes = 0;
  let cursor: string | null = body.cursor ?? null;
  do {
    const limit = Math.min(maxItems - items.length, maxRunsPerRead);
    const page = await readRunsPage(
      { dependencies, readContext, scope, selects },
      { limit, cursor },
    );
    items.push(...page.items);
    bytes += page.items.reduce((sum, { length }) => sum + length, 0);
    cursor = page.nextCursor;
  } while (cursor !== null && items.length < maxItems && bytes < maxBytes);
  // Deleting a run or a trace also deletes its token, but the token of a thread may remain when all runs of the thread
  // have been deleted.
  if (items.length === 0 && scope.kind === "thread" && (body.cursor ?? null) === null) {
    throw createNotFoundError();
  }
  return sendPage(request, reply, { items, nextCursor: cursor });
}

/** `GET /api/v2/public/{token}/run/{id}`: returns one of the runs to which the token gives access. */
export async function readV2PublicRun(
  dependencies: WithLinks<Store>,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<unknown> {
  const selects = parseSelects(allValues(readQuery(request), "selects") ?? [], v2PublicFields);
  const id = readRunId(request);
  const { baseUrl } = request;
  const scope = await findScope(dependencies, request);
  const { tenantId } = scope;
  const readContext = { tenantId, baseUrl };
  const run = await dependencies.store.read.runs.find(tenantId, id);
  if (
    run === undefined ||
    !(await isAccessible({ dependencies, readContext, scope, selects }, run))
  ) {
    throw createNotFoundError();
  }
  return sendV2Run(dependencies, readContext, { reply, run, selects });
}

/**
 * What is needed to read runs with a share token: the runs to which the token gives access, the fields to return, the
 * tenant that owns the runs, and the address of the server, for links.
 */
interface ShareAccess {
  readonly dependencies: WithLinks<Store>;
  readonly readContext: Pick<FastifyRequest, "tenantId" | "baseUrl">;
  readonly scope: SharedScope;
  readonly selects: readonly string[];
}

interface PageRange {
  readonly limit: number;
  readonly cursor: string | null;
}

interface Page {
  readonly items: readonly Buffer[];
  readonly nextCursor: string | null;
}

/** Reads the runs of a shared run or trace. */
const readRuns = (
  { dependencies, readContext, scope, selects }: ShareAccess,
  range: PageRange,
): Promise<Page> =>
  readV2Runs(dependencies, readContext, {
    v1Query: { ...toV1Query(scope), order: "asc", ...range },
    selects,
  });

/**
 * Reads the runs of a shared thread: its traces by start time, each with its runs by start time. The roots of a thread
 * are found through an index; filtering all runs of the project by thread would read all of them. The cursor has two
 * parts: the root of the last trace that was returned as a whole, and, if the page ended within the next trace, the
 * last returned run of that next trace.
 */
async function readThreadRuns(
  { dependencies, readContext, scope, selects }: ShareAccess,
  { limit, cursor }: PageRange,
): Promise<Page> {
  const [rootCursor = "", runCursor = ""] = cursor?.split(cursorSeparator) ?? [];
  const { runs: roots, nextCursor } = await readV2Runs(dependencies, readContext, {
    v1Query: {
      ...toV1Query(scope),
      is_root: true,
      order: "asc",
      limit,
      cursor: rootCursor || null,
    },
    selects: [],
    parts: ["traceId"],
  });
  const items: Buffer[] = [];
  let [nextRootCursor, nextRunCursor] = [rootCursor, runCursor];
  for (const { row } of roots) {
    const page = await readV2Runs(dependencies, readContext, {
      v1Query: {
        trace: row.traceId,
        order: "asc",
        limit: limit - items.length,
        cursor: nextRunCursor || null,
      },
      selects,
    });
    items.push(...page.items);
    if (page.nextCursor !== null) {
      return { items, nextCursor: `${nextRootCursor}${cursorSeparator}${page.nextCursor}` };
    }
    [nextRootCursor, nextRunCursor] = [toCursor(row, "asc"), ""];
    if (items.length >= limit) {
      const isLast = nextCursor === null && row === roots.at(-1)?.row;
      return { items, nextCursor: isLast ? null : `${nextRootCursor}${cursorSeparator}` };
    }
  }
  return { items, nextCursor: nextCursor === null ? null : `${nextCursor}${cursorSeparator}` };
}

/** Separates the two parts of a thread's cursor. Neither part can contain it. */
const cursorSeparator = "~";

/**
 * Creates the query, in the form of the first version of the API, for the runs to which a token gives access; for a
 * thread, the query for its roots.
 */
function toV1Query(scope: SharedScope): V1RunQuery {
  switch (scope.kind) {
    case "run":
      return { id: [scope.runId] };
    case "trace":
      return { trace: scope.traceId };
    case "thread":
      return {
        session: [scope.projectId],
        filter: `eq(thread_id, ${JSON.stringify(scope.threadId)})`,
      };
  }
}

/** Whether the token gives access to the run. */
async function isAccessible(
  { dependencies, readContext, scope }: ShareAccess,
  { row }: StoredRun,
): Promise<boolean> {
  switch (scope.kind) {
    case "run":
      return scope.runId === row.id;
    case "trace":
      return scope.traceId === row.traceId;
    case "thread": {
      const v1Query = { ...toV1Query(scope), is_root: true, trace: row.traceId, limit: 1 };
      const { runs } = await readV2Runs(dependencies, readContext, { v1Query, selects: [] });
      return runs.length > 0;
    }
  }
}

/**
 * Finds the scope of the token in the path.
 *
 * @throws RequestError 404: nothing is shared with this token.
 */
async function findScope(
  { store }: WithLinks<Store>,
  request: FastifyRequest,
): Promise<SharedScope> {
  const { token } = request.params as { readonly token: string };
  const scope = await store.read.shares.find(parseId(token, "share token"));
  if (scope === undefined) {
    throw createNotFoundError();
  }
  return scope;
}

const createNotFoundError = (): RequestError => new RequestError(404, "Run not found");
