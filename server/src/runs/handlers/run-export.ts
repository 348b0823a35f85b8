import type { FastifyReply, FastifyRequest } from "fastify";
import { randomBytes } from "node:crypto";
import { Readable } from "node:stream";
import Papa from "papaparse";
import { Type } from "typebox";
import type { Static } from "typebox";
import { escapeFormula } from "millrace/model";
import { RequestError } from "../../model/errors.ts";
import type { RunSearch } from "../run-list.ts";
import type { StoredRun } from "../run-row.ts";
import type { RunStore } from "../run-store.ts";
import { createMembers, toRunJson } from "../serializers/run-json.ts";
import { parseSearch, runSearchBody, searchWithin } from "./run-search-handlers.ts";

/** Body of `POST /ui/runs/export`: the body of `POST /ui/runs/search` and the file format. */
export const runExportBody = Type.Object({
  ...runSearchBody.properties,
  format: Type.Union([Type.Literal("jsonl"), Type.Literal("csv")]),
});

export type RunExportBody = Static<typeof runExportBody>;

interface RequestedExport {
  readonly tenantId: string;
  readonly search: RunSearch;
  readonly format: RunExportBody["format"];
  readonly expiresAtMs: number;
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
 */
export class RunExports {
  readonly #store: RunStore;
  readonly #requested = new Map<string, RequestedExport>();
  readonly #now: () => number;

  constructor(store: RunStore, now: () => number = Date.now) {
    this.#store = store;
    this.#now = now;
  }

  /** `POST /ui/runs/export`: returns the path from which the file can be fetched. */
  prepare({ body, tenantId }: FastifyRequest<{ Body: RunExportBody }>): { readonly path: string } {
    const { format, ...query } = body;
    const search = { ...parseSearch(query), limit: pageSize };
    const now = this.#now();
    for (const [token, { expiresAtMs }] of this.#requested) {
      if (expiresAtMs < now) {
        this.#requested.delete(token);
      }
    }
    if (this.#requested.size >= maxRequestedExports) {
      throw new RequestError(
        429,
        "too many exports are waiting to be fetched; try again in a minute",
      );
    }
    const token = randomBytes(24).toString("base64url");
    this.#requested.set(token, { tenantId, search, format, expiresAtMs: now + linkLifetimeMs });
    return { path: `/ui/runs/export/${token}` };
  }

  /** `GET /ui/runs/export/{token}`: streams the file while the runs are being read. */
  send(request: FastifyRequest, reply: FastifyReply): FastifyReply {
    const { token } = request.params as { readonly token: string };
    const requestedExport = this.#requested.get(token);
    this.#requested.delete(token);
    if (requestedExport === undefined || requestedExport.expiresAtMs < this.#now()) {
      throw new RequestError(404, "export not found or already fetched; start a new export");
    }
    const { format } = requestedExport;
    return reply
      .headers({
        "content-type": `${format === "csv" ? "text/csv" : "application/x-ndjson"}; charset=utf-8`,
        "content-disposition": `attachment; filename="runs.${format}"`,
        "x-content-type-options": "nosniff",
        "cache-control": "no-store",
      })
      .send(Readable.from(this.#chunks(requestedExport, request), { objectMode: false }));
  }

  async *#chunks(
    { tenantId, search, format }: RequestedExport,
    { raw }: FastifyRequest,
  ): AsyncGenerator<Buffer> {
    const store = this.#store.forRequest({ tenantId, raw });
    if (format === "csv") {
      yield Buffer.from(`${Papa.unparse([csvColumns])}\r\n`);
    }
    let after = search.after;
    do {
      const pageSearch = { ...search, ...(after === undefined ? {} : { after }) };
      // Read the pages one after the other: each page begins where the previous one ended.
      const { runs, nextPosition } = await searchWithin(pageSearch, stepMs, (stepSearch) =>
        store.read.runLists.search(tenantId, stepSearch),
      );
      after = nextPosition;
      if (runs.length > 0) {
        yield format === "csv" ? toCsv(runs) : toJsonLines(runs);
      }
    } while (after !== undefined);
  }
}

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
