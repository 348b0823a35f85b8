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
import { membersOf, toRunJson } from "../serializers/run-json.ts";
import { parseSearch, runSearchBody, searchFor } from "./run-search-handlers.ts";

/** Body of `POST /ui/runs/export`: what `POST /ui/runs/search` takes, and the form of the file. */
export const runExportBody = Type.Object({
  ...runSearchBody.properties,
  format: Type.Union([Type.Literal("jsonl"), Type.Literal("csv")]),
});

export type RunExportBody = Static<typeof runExportBody>;

interface Order {
  readonly tenantId: string;
  readonly search: RunSearch;
  readonly format: RunExportBody["format"];
  readonly untilMs: number;
}

/** A link to a download leads nowhere after so long. */
const linkMs = 60_000;
/** Downloads that are asked for and not yet begun. */
const ordersMax = 100;
/** Runs that are in memory at once. */
const pageSize = 50;
/** Each step of the search gives way to others after so long. */
const stepMs = 50;

/**
 * Downloads of runs. The UI requests an address with its key, and the browser fetches that without a key: only then does it save
 * the response while it arrives, however large it is. The address is random and works once.
 */
export class RunExports {
  readonly #store: RunStore;
  readonly #orders = new Map<string, Order>();
  readonly #now: () => number;

  constructor(store: RunStore, now: () => number = Date.now) {
    this.#store = store;
    this.#now = now;
  }

  /** `POST /ui/runs/export`: where the file can be fetched. */
  order({ body, tenantId }: FastifyRequest<{ Body: RunExportBody }>): { readonly path: string } {
    const { format, ...query } = body;
    const search = { ...parseSearch(query), limit: pageSize };
    const now = this.#now();
    for (const [token, { untilMs }] of this.#orders) {
      if (untilMs < now) {
        this.#orders.delete(token);
      }
    }
    if (this.#orders.size >= ordersMax) {
      throw new RequestError(429, "too many exports wait to be fetched; try again in a minute");
    }
    const token = randomBytes(24).toString("base64url");
    this.#orders.set(token, { tenantId, search, format, untilMs: now + linkMs });
    return { path: `/ui/runs/export/${token}` };
  }

  /** `GET /ui/runs/export/{token}`: the file, as it is read. */
  send(request: FastifyRequest, reply: FastifyReply): FastifyReply {
    const { token } = request.params as { readonly token: string };
    const order = this.#orders.get(token);
    this.#orders.delete(token);
    if (order === undefined || order.untilMs < this.#now()) {
      throw new RequestError(404, "there is no such export, or it was fetched; export once more");
    }
    const { format } = order;
    return reply
      .headers({
        "content-type": `${format === "csv" ? "text/csv" : "application/x-ndjson"}; charset=utf-8`,
        "content-disposition": `attachment; filename="runs.${format}"`,
        "x-content-type-options": "nosniff",
        "cache-control": "no-store",
      })
      .send(Readable.from(this.#pieces(order), { objectMode: false }));
  }

  async *#pieces({ tenantId, search, format }: Order): AsyncGenerator<Buffer> {
    if (format === "csv") {
      yield Buffer.from(`${Papa.unparse([columns])}\r\n`);
    }
    let after = search.after;
    do {
      const page = { ...search, ...(after === undefined ? {} : { after }) };
      // One after the other: a page begins where the one before it ended.
      const { runs, next } = await searchFor(this.#store, {
        tenantId,
        search: page,
        withinMs: stepMs,
      });
      after = next;
      if (runs.length > 0) {
        yield format === "csv" ? toCsv(runs) : toLines(runs);
      }
    } while (after !== undefined);
  }
}

/** Between the members of JSON a line may end; within its texts it can't. */
const toLines = (runs: readonly StoredRun[]): Buffer =>
  Buffer.concat(
    runs.flatMap((run) => [
      toRunJson(run).map((byte) => (byte === 0x0a || byte === 0x0d ? 0x20 : byte)) as Buffer,
      Buffer.from("\n"),
    ]),
  );

const columns = [
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

const exported = new Set(columns);

const toCsv = (runs: readonly StoredRun[]): Buffer =>
  Buffer.from(
    `${Papa.unparse(
      runs.map((run) => {
        const members = membersOf(run, { select: exported });
        return columns.map((name) => escapeFormula(toCell(members.get(name))));
      }),
    )}\r\n`,
  );

/** A text as it is, all else as JSON. */
function toCell(json: Buffer | undefined): string {
  const text = json?.toString("utf8") ?? "";
  if (text === "null") {
    return "";
  }
  return text.startsWith('"') ? (JSON.parse(text) as string) : text;
}
