import { createServer } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { gunzipSync } from "node:zlib";
import { sendResponse, jsonResponse, notFound } from "./strict/answer.ts";
import type { StrictResponse } from "./strict/answer.ts";
import { checkCall, rowOf } from "./strict/check-call.ts";
import type { CallRule, Row } from "./strict/check-call.ts";
import { checkIngest } from "./strict/check-ingest.ts";
import type { IngestRule, Operation } from "./strict/check-ingest.ts";
import { treeProblems } from "./strict/dotted-order.ts";
import { sampleResponse } from "./strict/sample-response.ts";
import type { SampleKind } from "./strict/sample.ts";
import type { ReceivedRequest, Violation } from "./strict/received-request.ts";

export type Rule =
  | IngestRule
  | CallRule
  | "key"
  | "http"
  | "encoding"
  | "row"
  | "twice"
  | "operations-limit"
  | "bytes-limit";

export interface BrokenRule extends Violation<Rule> {
  /** Method and path of the request. */
  readonly request: string;
}

/** How often each row of the endpoint table was requested. */
export type RequestCounts = ReadonlyMap<string, number>;

export interface StrictOptions {
  readonly apiKey: string;
  /** `batch_ingest_config` of `/info`. @defaultValue the platform's values */
  readonly limits?: { readonly operations: number; readonly bytes: number };
  /** Formats in which runs are accepted; others get 404. @defaultValue all */
  readonly formats?: readonly ("multipart" | "batch" | "single")[];
  /** Encodings that `/info` announces. @defaultValue none */
  readonly encodings?: readonly "gzip"[];
  /** May replace the response to an ingest request. `count` is the number of the request, beginning with 1. */
  readonly onIngest?: (count: number) => StrictResponse | undefined;
  /** Creates the response to an API call. @defaultValue a sample response */
  readonly onCall?: (row: Row, request: ReceivedRequest) => Promise<StrictResponse>;
  /** @defaultValue full */
  readonly samples?: SampleKind;
}

export interface StrictServer extends AsyncDisposable {
  readonly endpoint: string;
  /** Rules that were broken so far, including those between runs. */
  violations(): readonly BrokenRule[];
  /** The merged members of posts and patches, by run id. */
  readonly runs: ReadonlyMap<string, Readonly<Record<string, unknown>>>;
  readonly requestCounts: RequestCounts;
  /** How many times `/info` was requested. */
  readonly infos: number;
  /** The number of operations of each accepted ingest request, in order. */
  readonly batches: readonly number[];
  /** The number of refused ingest requests. */
  readonly refused: number;
  /** Content encodings of the ingest requests. */
  readonly encodings: ReadonlySet<string>;
}

const defaultLimits = { operations: 100, bytes: 20_971_520 };

/**
 * A server that shares no code with the local server. It parses requests according to the documentation of the wire
 * format, collects every broken rule, and responds as the platform does.
 */
export async function strictServer(options: StrictOptions): Promise<StrictServer> {
  const state = new StrictState(options);
  const server = createServer((request, response) => {
    void state.serve(request, response).catch((error: unknown) => {
      state.breaks("http", String(error), request);
      response.destroy();
    });
  });
  server.on("clientError", (error: Error, socket) => {
    state.breaks("http", error.message, {});
    socket.destroy();
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  const { port } = server.address() as AddressInfo;
  return Object.assign(state, {
    endpoint: `http://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => {
        server.close(resolve);
      });
    },
  });
}

const ingestRows: ReadonlySet<string> = new Set([
  "createRun",
  "updateRun",
  "sendBatch",
  "sendMultipart",
]);

class StrictState {
  readonly runs = new Map<string, Record<string, unknown>>();
  readonly requestCounts = new Map<string, number>();
  readonly batches: number[] = [];
  readonly encodings = new Set<string>();
  infos = 0;
  refused = 0;
  readonly #options: StrictOptions;
  readonly #broken: BrokenRule[] = [];
  readonly #orders = new Map<string, string>();
  /** Operations that were accepted, or are being accepted. */
  readonly #taken = new Set<string>();
  #ingests = 0;

  constructor(options: StrictOptions) {
    this.#options = options;
  }

  violations(): readonly BrokenRule[] {
    const between = treeProblems(this.#orders).map((one) => ({ ...one, request: "all of them" }));
    return [...this.#broken, ...between];
  }

  breaks(
    rule: Rule,
    detail: string,
    { method, url }: Pick<IncomingMessage, "method" | "url">,
  ): void {
    this.#broken.push({ rule, detail, request: `${method} ${url}` });
  }

  async serve(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    // A request must respect the limits that were known when it was sent.
    const infos = this.infos;
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) {
      chunks.push(chunk as Buffer);
    }
    const request = this.#read(incoming, Buffer.concat(chunks), infos);
    const row = rowOf(request);
    if (row === undefined) {
      this.breaks("row", "no row of the endpoint table", incoming);
      sendResponse(response, notFound);
      return;
    }
    this.requestCounts.set(row.name, (this.requestCounts.get(row.name) ?? 0) + 1);
    if (row.name === "readInfo") {
      sendResponse(response, (await this.#options.onCall?.(row, request)) ?? this.#info());
      this.infos += 1;
    } else if (ingestRows.has(row.name)) {
      await this.#ingest({ request, row, incoming, response, infos });
    } else {
      for (const { rule, detail } of checkCall(row, request)) {
        this.breaks(rule, detail, incoming);
      }
      sendResponse(
        response,
        (await this.#options.onCall?.(row, request)) ??
          sampleResponse(row, request, this.#options.samples ?? "full"),
      );
    }
  }

  #read(incoming: IncomingMessage, raw: Buffer, infos: number): ReceivedRequest {
    const { headers, method = "", url = "" } = incoming;
    const { pathname, searchParams } = new URL(url, "http://localhost");
    // A path contains `/v1` once, wherever the prefix comes from.
    const path = pathname
      .replace(/^\/api\/v1\/platform\//, "/v1/platform/")
      .replace(/^\/api\/v1(?!\/v1)(?=\/)/, "");
    if (headers["x-api-key"] !== this.#options.apiKey && path !== "/info") {
      this.breaks("key", `x-api-key is ${String(headers["x-api-key"])}`, incoming);
    }
    const body = this.#decoded(incoming, raw, infos);
    return { method, path, query: searchParams, headers, body };
  }

  #decoded(incoming: IncomingMessage, raw: Buffer, infos: number): Buffer {
    const encoding = incoming.headers["content-encoding"];
    if (encoding === undefined) {
      return raw;
    }
    this.encodings.add(encoding);
    const { encodings = [] } = this.#options;
    if (encoding !== "gzip" || !encodings.includes("gzip") || infos === 0) {
      this.breaks("encoding", `${encoding} was not offered`, incoming);
    }
    try {
      return gunzipSync(raw);
    } catch (error) {
      this.breaks("encoding", `not ${encoding}: ${String(error)}`, incoming);
      return Buffer.alloc(0);
    }
  }

  #info(): StrictResponse {
    const { limits = defaultLimits, formats = ["multipart"], encodings = [] } = this.#options;
    return jsonResponse(200, {
      version: "0.10.0",
      batch_ingest_config: {
        use_multipart_endpoint: formats.includes("multipart"),
        size_limit: limits.operations,
        size_limit_bytes: limits.bytes,
      },
      instance_flags: {
        gzip_body_enabled: encodings.includes("gzip"),
        zstd_compression_enabled: false,
        dataset_examples_multipart_enabled: true,
        examples_check_enabled: true,
      },
    });
  }

  async #ingest({ request, row, incoming, response, infos }: Ingest): Promise<void> {
    const format = formatOf(row);
    if (!(this.#options.formats ?? [format]).includes(format)) {
      sendResponse(response, notFound);
      return;
    }
    const { operations, violations } = checkIngest(request);
    for (const { rule, detail } of violations) {
      this.breaks(rule, detail, incoming);
    }
    const { limits = defaultLimits } = this.#options;
    const bound = infos === 0 ? defaultLimits : limits;
    if (operations.length > bound.operations) {
      this.breaks("operations-limit", `${operations.length}`, incoming);
    }
    // A single operation that is larger than the limit can't be divided.
    if (request.body.length > bound.bytes && operations.length > 1) {
      this.breaks("bytes-limit", `${request.body.length} bytes`, incoming);
    }
    this.#ingests += 1;
    const result =
      this.#options.onIngest?.(this.#ingests) ??
      (await this.#options.onCall?.(row, request)) ??
      jsonResponse(202, {});
    const isAccepted = result !== "hang up" && result.status < 300;
    for (const operation of operations) {
      this.#take(operation, { incoming, isAccepted });
    }
    if (isAccepted) {
      this.batches.push(operations.length);
    } else {
      this.refused += 1;
    }
    sendResponse(response, result);
  }

  #take(
    { kind, id, run, digest }: Operation,
    { incoming, isAccepted }: { readonly incoming: IncomingMessage; readonly isAccepted: boolean },
  ): void {
    // A run is posted once, and no two of its patches are the same.
    const key = kind === "post" ? `post ${id}` : `patch ${id} ${digest}`;
    if (this.#taken.has(key)) {
      this.breaks("twice", `${kind} ${id}`, incoming);
    }
    if (!isAccepted) {
      return;
    }
    this.#taken.add(key);
    this.runs.set(id, { ...this.runs.get(id), ...run });
    if (typeof run["dotted_order"] === "string") {
      this.#orders.set(id, run["dotted_order"]);
    }
  }
}

interface Ingest {
  readonly request: ReceivedRequest;
  readonly row: Row;
  readonly incoming: IncomingMessage;
  readonly response: ServerResponse;
  readonly infos: number;
}

const formatOf = ({ name }: Row): "multipart" | "batch" | "single" => {
  if (name === "sendMultipart") {
    return "multipart";
  }
  return name === "sendBatch" ? "batch" : "single";
};
