import type { FastifyReply, FastifyRequest } from "fastify";
import { randomBytes } from "node:crypto";
import { finished, Readable } from "node:stream";
import Papa from "papaparse";
import { Type } from "typebox";
import type { Static } from "typebox";
import { escapeFormula } from "millrace/model";
import type { RequestScoped } from "../http/request-scope.ts";
import type { AttachedJob, AttachedJobs, JobCreationStore } from "../jobs/attached-jobs.ts";
import { exportJobKind } from "../jobs/job.ts";
import type { JobEnd } from "../jobs/job.ts";
import { messageOf, RequestError } from "../model/errors.ts";
import { parseSearch, runSearchBody, searchWithin } from "../runs/handlers/run-search-handlers.ts";
import type { RunSearch } from "../runs/run-list.ts";
import type { StoredRun } from "../runs/run-row.ts";
import { createMembers, toRunJson } from "../runs/serializers/run-json.ts";
import { countMatchingRuns, describeRuns } from "./matching-runs.ts";
import type { MatchingRunStore } from "./matching-runs.ts";

/** Body of `POST /ui/runs/export`: the body of `POST /ui/runs/search` and the file format. */
export const runExportBody = Type.Object({
  ...runSearchBody.properties,
  format: Type.Union([Type.Literal("jsonl"), Type.Literal("csv")]),
});

export type RunExportBody = Static<typeof runExportBody>;

/** The part of the store that an export uses. */
export interface ExportStore extends RequestScoped<ExportStore>, MatchingRunStore {
  readonly write: JobCreationStore["write"];
}

interface RequestedExport {
  readonly tenantId: string;
  readonly search: RunSearch;
  readonly format: RunExportBody["format"];
  readonly job: AttachedJob;
}

/** Milliseconds within which the browser must fetch an export. */
const linkLifetimeMs = 60_000;
/** Maximum number of exports that were requested but not yet fetched. */
const maxRequestedExports = 100;
/** Number of runs that an export reads at once and keeps in memory. */
const pageSize = 50;
/** Milliseconds that one search step may take; other requests are served between steps. */
const stepMs = 50;

/**
 * Exports runs as a file. The UI sends its access key to request the path of an export. The browser then fetches
 * that path without a key, because a browser streams a response to disk only for a plain navigation, which can't send
 * a key. The path is random and works once.
 *
 * Each export is a job that is attached to these requests: it runs from the first request to the end of the download,
 * and the download ends when the job is canceled.
 */
export class RunExports {
  readonly #store: ExportStore;
  readonly #jobs: Pick<AttachedJobs, "create">;
  readonly #linkLifetimeMs: number;
  readonly #requested = new Map<string, RequestedExport>();

  constructor(store: ExportStore, jobs: Pick<AttachedJobs, "create">, lifetimeMs = linkLifetimeMs) {
    this.#store = store;
    this.#jobs = jobs;
    this.#linkLifetimeMs = lifetimeMs;
  }

  /** `POST /ui/runs/export`: creates the job, and returns the path from which the file can be fetched. */
  async prepare(
    request: FastifyRequest<{ Body: RunExportBody }>,
  ): Promise<{ readonly path: string; readonly job_id: string }> {
    const { body, tenantId } = request;
    const { format, ...query } = body;
    const search = limitToPresent(parseSearch(query));
    if (this.#requested.size >= maxRequestedExports) {
      throw new RequestError(
        429,
        "too many exports are waiting to be fetched; try again in a minute",
      );
    }
    const store = this.#store.forRequest(request);
    const total = await countExported(store, tenantId, search);
    const job = await this.#jobs.create(store, tenantId, {
      kind: exportJobKind,
      title: `Export ${describeRuns(total)} as ${formatNames[format]}`,
      parameters: { session: [search.projectId], format },
      total: total ?? null,
    });
    const token = randomBytes(24).toString("base64url");
    this.#requested.set(token, { tenantId, search: { ...search, limit: pageSize }, format, job });
    this.#endUnfetched(token, job);
    return { path: `/ui/runs/export/${token}`, job_id: job.id };
  }

  /** `GET /ui/runs/export/{token}`: streams the file while the runs are being read. */
  send(request: FastifyRequest, reply: FastifyReply): FastifyReply {
    const { token } = request.params as { readonly token: string };
    const requestedExport = this.#requested.get(token);
    this.#requested.delete(token);
    if (requestedExport === undefined) {
      throw new RequestError(
        404,
        "export not found, already fetched or canceled; start a new export",
      );
    }
    const { format, job } = requestedExport;
    const stream = Readable.from(this.#chunks(requestedExport, request), { objectMode: false });
    endWithResponse(job, stream, { request, reply });
    return reply
      .headers({
        "content-type": `${format === "csv" ? "text/csv" : "application/x-ndjson"}; charset=utf-8`,
        "content-disposition": `attachment; filename="runs.${format}"`,
        "x-content-type-options": "nosniff",
        "cache-control": "no-store",
      })
      .send(stream);
  }

  /** Ends the job if it is aborted before the browser fetches the file, or if the browser never does. */
  #endUnfetched(token: string, job: AttachedJob): void {
    const end = (jobEnd: JobEnd): void => {
      if (this.#requested.delete(token)) {
        void job.end(jobEnd);
      }
    };
    const timer = setTimeout(
      () => end({ state: "canceled", error: "the browser did not fetch the file in time" }),
      this.#linkLifetimeMs,
    );
    timer.unref();
    const onAbort = (): void => end(toAbortedEnd(job));
    job.signal.addEventListener("abort", onAbort, { once: true });
    if (job.signal.aborted) {
      onAbort();
    }
    void job.ended.then(() => clearTimeout(timer));
  }

  async *#chunks(
    { tenantId, search, format, job }: RequestedExport,
    { raw }: FastifyRequest,
  ): AsyncGenerator<Buffer> {
    const store = this.#store.forRequest({ tenantId, raw });
    if (format === "csv") {
      yield Buffer.from(`${Papa.unparse([csvColumns])}\r\n`);
    }
    let after = search.after;
    let done = 0;
    do {
      job.signal.throwIfAborted();
      const pageSearch = { ...search, ...(after === undefined ? {} : { after }) };
      // Read the pages one after the other: each page begins where the previous one ended.
      const { runs, nextPosition } = await searchWithin(pageSearch, stepMs, (stepSearch) =>
        store.read.runLists.search(tenantId, stepSearch),
      );
      after = nextPosition;
      if (runs.length > 0) {
        yield format === "csv" ? toCsv(runs) : toJsonLines(runs);
        done += runs.length;
        job.report(done);
      }
    } while (after !== undefined);
  }
}

const formatNames = { jsonl: "JSON Lines", csv: "CSV" } as const;

/**
 * Limits an export to the runs that have begun by now, like the other actions on all matching runs. Without this limit,
 * an export that is sorted from the earliest run to the latest would not end as long as new runs arrive. An export of
 * selected runs needs no limit.
 */
const limitToPresent = (search: RunSearch): RunSearch => {
  const { filter } = search;
  const { ids, latestStartMicros = Infinity } = filter;
  return ids === undefined
    ? {
        ...search,
        filter: { ...filter, latestStartMicros: Math.min(latestStartMicros, Date.now() * 1_000) },
      }
    : search;
};

/**
 * Counts the runs of an export. Returns `undefined` if that takes too long, or if the export does not begin at the
 * start of its list.
 */
const countExported = async (
  store: MatchingRunStore,
  tenantId: string,
  search: RunSearch,
): Promise<number | undefined> =>
  search.after === undefined
    ? countMatchingRuns(store, tenantId, { ...search, sort: "start", order: "desc" })
    : undefined;

/**
 * Ends the response when the job is aborted, and ends the job when the response has ended. If the response is
 * incomplete, its connection is closed, so that the browser reports the download as failed.
 */
function endWithResponse(
  job: AttachedJob,
  stream: Readable,
  { request, reply }: { readonly request: FastifyRequest; readonly reply: FastifyReply },
): void {
  let failure: string | undefined;
  const onAbort = (): void => {
    stream.destroy(new RequestError(409, toAbortedEnd(job).error));
  };
  job.signal.addEventListener("abort", onAbort, { once: true });
  stream.once("error", (cause) => {
    // Reading also fails if the client has closed the connection.
    if (!request.raw.socket.destroyed) {
      failure = messageOf(cause);
    }
  });
  finished(reply.raw, () => void job.end(toEnd(job, stream, failure)));
}

function toEnd(job: AttachedJob, stream: Readable, failure: string | undefined): JobEnd {
  if (job.signal.aborted) {
    return toAbortedEnd(job);
  }
  if (failure !== undefined) {
    return { state: "failed", error: failure };
  }
  return stream.readableEnded
    ? { state: "succeeded", result: { summary: `Exported ${describeRuns(job.done)}.` } }
    : {
        state: "canceled",
        error: "the browser ended the download, or its connection was lost",
      };
}

/** The end of an aborted job: it failed. If the job was canceled, `AttachedJob.end` stores it as canceled instead. */
const toAbortedEnd = ({ signal }: AttachedJob) => ({
  state: "failed" as const,
  error: `${messageOf(signal.reason)} before the download was complete; export the runs again`,
});

/**
 * Formats runs as JSON Lines. Line breaks between JSON tokens become spaces; strings in JSON contain no raw line
 * breaks.
 */
const toJsonLines = (runs: readonly StoredRun[]): Buffer =>
  Buffer.concat(
    runs.flatMap((run) => [
      toRunJson(run).map((byte) => (byte === 0x0a || byte === 0x0d ? 0x20 : byte)) as Buffer,
      Buffer.from("\n"),
    ]),
  );

const csvColumns = [
  "id",
  "trace_id",
  "parent_run_id",
  "name",
  "run_type",
  "status",
  "start_time",
  "end_time",
  "total_tokens",
  "total_cost",
  "tags",
  "error",
  "inputs",
  "outputs",
  "extra",
];

const exportedMembers = new Set(csvColumns);

const toCsv = (runs: readonly StoredRun[]): Buffer =>
  Buffer.from(
    `${Papa.unparse(
      runs.map((run) => {
        const members = createMembers(run, { select: exportedMembers });
        return csvColumns.map((name) => escapeFormula(toCell(members.get(name))));
      }),
    )}\r\n`,
  );

/** Formats a value for a CSV cell: strings without quotes, all other values as JSON. */
function toCell(json: Buffer | undefined): string {
  const text = json?.toString("utf8") ?? "";
  if (text === "null") {
    return "";
  }
  return text.startsWith('"') ? (JSON.parse(text) as string) : text;
}
