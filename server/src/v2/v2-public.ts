import type { Linked } from "../shares/signed-links.ts";
import type { Store } from "../store/store.ts";
import type { FastifyReply, FastifyRequest } from "fastify";
import { Type } from "typebox";
import type { Static } from "typebox";
import { RequestError } from "../model/errors.ts";
import { Maybe } from "../http/schema-parts.ts";
import type { StoredRun } from "../runs/run-row.ts";
import type { SharedScope } from "../shares/share.ts";
import { v2PublicFields } from "./v2-run-json.ts";
import { all, parseId } from "../http/query-string.ts";
import { toCursor } from "../runs/handlers/run-query-body.ts";
import { pageBody, sendPage } from "./v2-page.ts";
import { idOf, parseSelects, queryOf, readMax, readV2Runs, sendV2Run } from "./v2-runs.ts";
import type { RunQuestion } from "./v2-runs.ts";

/** Runs of one answer where the caller names no fewer: clients take it for all of them. */
const runsMax = 1_000;
/** Bytes after which an answer ends with a cursor. */
const bytesMax = 8 * 1_048_576;

/** Body of `POST /api/v2/public/{token}/runs/query`. */
export const v2PublicQueryBody = Type.Object({
  selects: Maybe(Type.Array(Type.String({ maxLength: 64 }), { maxItems: 200 })),
  ...pageBody,
});

/** `POST /api/v2/public/{token}/runs/query`: the runs that the token opens, in the order of their start. */
export async function queryV2PublicRuns(
  dependencies: Linked<Store>,
  request: FastifyRequest<{ Body: Static<typeof v2PublicQueryBody> }>,
  reply: FastifyReply,
): Promise<unknown> {
  const { body, protocol, host } = request;
  const selects = parseSelects(body.selects ?? [], v2PublicFields);
  const scope = await findScope(dependencies, request);
  const whose = { tenantId: scope.tenantId, protocol, host };
  const size = body.page_size ?? runsMax;
  const readSome = scope.kind === "thread" ? readThreadRuns : readRuns;
  const items: Buffer[] = [];
  let bytes = 0;
  let cursor: string | null = body.cursor ?? null;
  do {
    const limit = Math.min(size - items.length, readMax);
    const page = await readSome({ dependencies, whose, scope, selects }, { limit, cursor });
    items.push(...page.items);
    bytes += page.items.reduce((sum, { length }) => sum + length, 0);
    cursor = page.next;
  } while (cursor !== null && items.length < size && bytes < bytesMax);
  // A run or a trace that is gone has taken its token along; a thread may be without runs for a while.
  if (items.length === 0 && scope.kind === "thread" && (body.cursor ?? null) === null) {
    throw notFound();
  }
  return sendPage(request, reply, { items, next: cursor });
}

/** `GET /api/v2/public/{token}/run/{id}`: one of the runs that the token opens. */
export async function readV2PublicRun(
  dependencies: Linked<Store>,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<unknown> {
  const selects = parseSelects(all(queryOf(request), "selects") ?? [], v2PublicFields);
  const id = idOf(request);
  const { protocol, host } = request;
  const scope = await findScope(dependencies, request);
  const { tenantId } = scope;
  const whose = { tenantId, protocol, host };
  const run = await dependencies.store.read.runs.find(tenantId, id);
  if (run === undefined || !(await isOpened({ dependencies, whose, scope, selects }, run))) {
    throw notFound();
  }
  return sendV2Run(dependencies, whose, { reply, run, selects });
}

/** What a token opens, and to whom it is shown. */
interface Opened {
  readonly dependencies: Linked<Store>;
  readonly whose: Pick<FastifyRequest, "tenantId" | "protocol" | "host">;
  readonly scope: SharedScope;
  readonly selects: readonly string[];
}

interface Part {
  readonly limit: number;
  readonly cursor: string | null;
}

interface Page {
  readonly items: readonly Buffer[];
  readonly next: string | null;
}

/** Of a run or of a trace. */
const readRuns = ({ dependencies, whose, scope, selects }: Opened, part: Part): Promise<Page> =>
  readV2Runs(dependencies, whose, { asked: { ...runsOf(scope), order: "asc", ...part }, selects });

/**
 * Of a thread: its traces in the order of their start, each with its runs in the order of theirs. An index leads to
 * the roots of a thread; to ask of each run of the project which root it has would read all of them. The cursor is
 * the root after which to go on, and the run of the next trace after which to.
 */
async function readThreadRuns(
  { dependencies, whose, scope, selects }: Opened,
  { limit, cursor }: Part,
): Promise<Page> {
  const [after = "", within = ""] = cursor?.split(cursorSeparator) ?? [];
  const { runs: roots, next } = await readV2Runs(dependencies, whose, {
    asked: { ...runsOf(scope), is_root: true, order: "asc", limit, cursor: after || null },
    selects: [],
    parts: ["traceId"],
  });
  const items: Buffer[] = [];
  let [outer, inner] = [after, within];
  for (const { row } of roots) {
    const page = await readV2Runs(dependencies, whose, {
      asked: {
        trace: row.traceId,
        order: "asc",
        limit: limit - items.length,
        cursor: inner || null,
      },
      selects,
    });
    items.push(...page.items);
    if (page.next !== null) {
      return { items, next: `${outer}${cursorSeparator}${page.next}` };
    }
    [outer, inner] = [toCursor(row, "asc"), ""];
    if (items.length >= limit) {
      const isLast = next === null && row === roots.at(-1)?.row;
      return { items, next: isLast ? null : `${outer}${cursorSeparator}` };
    }
  }
  return { items, next: next === null ? null : `${next}${cursorSeparator}` };
}

/** Between the two parts of a thread's cursor; neither has it in its alphabet. */
const cursorSeparator = "~";

/** The runs that a token opens, as a query of the first version; of a thread its roots. */
function runsOf(scope: SharedScope): RunQuestion {
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

/** Whether the token opens the run. */
async function isOpened(
  { dependencies, whose, scope }: Opened,
  { row }: StoredRun,
): Promise<boolean> {
  switch (scope.kind) {
    case "run":
      return scope.runId === row.id;
    case "trace":
      return scope.traceId === row.traceId;
    case "thread": {
      const asked = { ...runsOf(scope), is_root: true, trace: row.traceId, limit: 1 };
      const { runs } = await readV2Runs(dependencies, whose, { asked, selects: [] });
      return runs.length > 0;
    }
  }
}

/** @throws RequestError 404: nothing is shared under the token. */
async function findScope({ store }: Linked<Store>, request: FastifyRequest): Promise<SharedScope> {
  const { token } = request.params as { readonly token: string };
  const scope = await store.read.shares.find(parseId(token, "share token"));
  if (scope === undefined) {
    throw notFound();
  }
  return scope;
}

const notFound = (): RequestError => new RequestError(404, "Run not found");
