import type { WithLinks } from "../../http/signed-links.ts";
import type { TraceLine } from "../run-pages.ts";
import type { RunStore } from "../run-store.ts";
import type { TraceQuery } from "../trace.ts";
import { Readable } from "node:stream";
import type { FastifyReply, FastifyRequest } from "fastify";
import { RequestError } from "../../model/errors.ts";
import { toRunJson } from "../serializers/run-json.ts";
import { firstValue, parseCount } from "../../http/query-string.ts";
import type { QueryString } from "../../http/query-string.ts";
import { createFileLinker, readRunId } from "./run-handlers.ts";

/** Maximum number of runs in a line. A reader thread is busy while it writes a line, so larger traces need several. */
const maxLineRuns = 10_000;
/** Maximum number of runs in a response. The last line of a longer trace's response contains the id of its last run. */
const maxRuns = 200_000;

/**
 * `GET /ui/traces/{id}`: returns a trace's runs without their payloads: ids, parents, names, times and counts. Each
 * line is JSON with some of the runs, so that the client can read one line while the server writes the next one.
 */
export async function readTrace(
  { store }: WithLinks<RunStore>,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<unknown> {
  const query = { traceId: readRunId(request), ...parseTraceRange(request) };
  return sendTrace(reply, (range) =>
    store.read.runPages.readTrace(request.tenantId, { ...query, ...range }),
  );
}

/** Returns which runs of a trace the query string of a request selects. */
export function parseTraceRange(request: FastifyRequest): Omit<TraceQuery, "traceId"> {
  const query = request.query as QueryString;
  const since = firstValue(query, "since");
  return {
    limit: parseCount(query, "limit", { fallback: maxLineRuns, min: 1, max: maxLineRuns }),
    ...(since === undefined
      ? {}
      : { since: parseCount(query, "since", { fallback: 0, max: Number.MAX_SAFE_INTEGER }) }),
  };
}

/** Reads a line of a trace: the first one, or the one that begins after a run. */
type ReadTraceLine = (range: Pick<TraceQuery, "afterId">) => Promise<TraceLine>;

/** Sends the lines of a trace. A line is read only once the client has received most of the lines before it. */
export async function sendTrace(reply: FastifyReply, readLine: ReadTraceLine): Promise<unknown> {
  // Read the first line before the response begins, so that an error still determines the status of the response.
  const firstLine = await readLine({});
  return reply.type("application/x-ndjson; charset=utf-8").send(
    Readable.from(readLines(firstLine, readLine), {
      objectMode: false,
      highWaterMark: highWaterMarkBytes,
    }),
  );
}

/** While more bytes than this wait for a slow client, the next line is not read. */
const highWaterMarkBytes = 1_048_576;

async function* readLines(
  firstLine: TraceLine,
  readLine: ReadTraceLine,
): AsyncGenerator<Uint8Array> {
  let runCount = 0;
  for (let line: TraceLine | undefined = firstLine; line !== undefined;) {
    yield line.json;
    runCount += line.runCount;
    // Each line begins where the previous one ended.
    line =
      line.next === undefined || runCount >= maxRuns
        ? undefined
        : await readLine({ afterId: line.next });
  }
}

/** `GET /ui/trace-runs/{id}`: returns a run without the ids of its descendants, because there may be many. */
export async function readTraceRun(
  { store, links }: WithLinks<RunStore>,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<unknown> {
  const id = readRunId(request);
  const { runs } = await store.read.runs.query(request.tenantId, {
    filter: { ids: [id] },
    order: "asc",
    limit: 1,
    withChildren: false,
  });
  const [run] = runs;
  if (run === undefined) {
    throw new RequestError(404, "Run not found");
  }
  const body = toRunJson(run, { link: createFileLinker(links, request), withCostBasis: true });
  return reply.type("application/json; charset=utf-8").send(body);
}
