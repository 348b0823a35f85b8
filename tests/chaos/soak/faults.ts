import type { IncomingMessage, ServerResponse } from "node:http";
import type { Random } from "./random.ts";

/** An ingest request whose body has arrived. */
export interface Ingest {
  readonly response: ServerResponse;
  readonly path: string;
  /** The number of runs in the request. */
  readonly runs: number;
  /** Ids of the runs in it that are named "bad". */
  readonly badIds: readonly string[];
  /** Writes the runs to the server's journal; with `"bad"`, all but the bad ones. */
  readonly store: (without?: "bad") => void;
  readonly random: Random;
}

export interface Fault {
  /** Called when a request begins. Returns true if it has handled the request completely. */
  readonly begin?: (request: IncomingMessage, response: ServerResponse) => boolean;
  readonly respond: (ingest: Ingest) => void;
}

const reply = (
  response: ServerResponse,
  status: number,
  body = "{}",
  headers: Readonly<Record<string, string>> = { "content-type": "application/json" },
): void => {
  response.writeHead(status, headers).end(body);
};

const accept = ({ store, response }: Ingest): void => {
  store();
  reply(response, 202);
};

/** Refuses every request with a status, and stores nothing. */
const refusal = (status: number, headers?: Readonly<Record<string, string>>): Fault => ({
  respond: ({ response }) => reply(response, status, '{"detail":"no"}', headers),
});

/** Stores the runs, but sends an unusual response. */
const storeThenRespond = (answer: (response: ServerResponse) => void): Fault => ({
  respond: ({ store, response }) => {
    store();
    answer(response);
  },
});

/** Refuses every request that contains a bad run, as a whole. */
const refuseBatchesWithBadRuns = (status: number): Fault => ({
  respond: (ingest) => (ingest.badIds.length > 0 ? reply(ingest.response, status) : accept(ingest)),
});

const isSingleRunPath = (path: string): boolean => /\/runs(\/[\da-f-]{36})?$/.test(path);

const htmlPage = "<!doctype html><title>Welcome</title><h1>Sign in</h1>";
const html = { "content-type": "text/html" };
const slowMs = 400;

const namedFaults = {
  none: { respond: accept },
  slow: { respond: (ingest) => void setTimeout(() => accept(ingest), slowMs) },
  "a little slow": {
    respond: (ingest) => void setTimeout(() => accept(ingest), ingest.random.integer(1, 60)),
  },
  "resets before the body": {
    begin: (request) => {
      request.socket.resetAndDestroy();
      return true;
    },
    respond: accept,
  },
  "resets in mid-body": {
    begin: (request) => {
      request.once("data", () => request.socket.resetAndDestroy());
      request.on("error", () => undefined);
      return true;
    },
    respond: accept,
  },
  "keeps, then resets": storeThenRespond((response) => response.socket?.resetAndDestroy()),
  "keeps, then says nothing": storeThenRespond(() => undefined),
  "hangs before the body": { begin: () => true, respond: accept },
  "drips its head": storeThenRespond((response) => {
    const { socket } = response;
    const drip = setInterval(() => socket?.write("H"), 100);
    socket?.once("close", () => clearInterval(drip));
  }),
  "drips its body": storeThenRespond((response) => {
    const drip = setInterval(() => response.write(" "), 50);
    response.once("close", () => clearInterval(drip));
    response.writeHead(202);
  }),
  "breaks its answer off": storeThenRespond((response) => {
    response.writeHead(202, { "content-length": "99" });
    response.write("{", () => response.socket?.destroy());
  }),
  "closes after each answer": storeThenRespond((response) => {
    reply(response, 202, "{}", { connection: "close" });
  }),
  "drops idle connections": storeThenRespond((response) => {
    const { socket } = response;
    reply(response, 202);
    // Closes without notice, when the next request may already be on its way.
    response.once("finish", () => setTimeout(() => socket?.destroy(), 15));
  }),
  "says yes in HTML": storeThenRespond((response) => reply(response, 200, htmlPage, html)),
  "says yes without a word": storeThenRespond((response) => response.writeHead(204).end()),
  "says yes in garbage": storeThenRespond((response) => reply(response, 202, '{"rejected":[{"id"')),
  "has it already": storeThenRespond((response) =>
    reply(response, 409, '{"detail":"received before"}'),
  ),
  "is no server of HTTP": storeThenRespond((response) => {
    response.socket?.end("220 mail.test ESMTP\r\n");
  }),
  "points elsewhere": refusal(302, { location: "http://127.0.0.1:9/runs/multipart" }),
  "refuses batches with a bad run": refuseBatchesWithBadRuns(422),
  "refuses batches with a bad run as invalid": refuseBatchesWithBadRuns(400),
  "takes the good runs and names the bad": {
    respond: ({ store, response, badIds }) => {
      store("bad");
      const rejected = badIds.map((id) => ({ id, reason: "bad" }));
      reply(response, 202, JSON.stringify({ rejected }));
    },
  },
  "takes small batches only": {
    respond: (ingest) => (ingest.runs > 7 ? reply(ingest.response, 413) : accept(ingest)),
  },
  "has no multipart": {
    respond: (ingest) =>
      ingest.path.endsWith("/multipart") ? reply(ingest.response, 404) : accept(ingest),
  },
  "takes single runs only": {
    respond: (ingest) =>
      isSingleRunPath(ingest.path) ? accept(ingest) : reply(ingest.response, 405),
  },
  "has none of the paths": refusal(404),
} as const satisfies Readonly<Record<string, Fault>>;

/** Values of `Retry-After` for 429 and 503: numbers, a date, and invalid ones. */
const retryAfters = ["0", "1", "-5", "soon", "86400", "1.5", "", "Sun, 06 Nov 1994 08:49:37 GMT"];

const statuses = [
  400, 401, 402, 403, 406, 407, 408, 410, 411, 418, 425, 500, 501, 502, 503, 504, 507,
];

export const faults: ReadonlyMap<string, Fault> = new Map<string, Fault>([
  ...Object.entries(namedFaults),
  ...statuses.map((status): [string, Fault] => [`answers ${status}`, refusal(status)]),
  ...retryAfters.flatMap((after): [string, Fault][] =>
    [429, 503].map((status) => [
      `answers ${status}, Retry-After: ${after}`,
      refusal(status, { "retry-after": after }),
    ]),
  ),
]);

/** A random fault, or none, for each request, as behind a bad load balancer. */
export const anyFault = "something else each time";
/** No socket listens. */
export const down = "is down";

export const faultNames: readonly string[] = [
  ...[...faults.keys()].filter((name) => name !== "none" && name !== "slow"),
  anyFault,
  down,
];

/** Bodies of `/info`, or what happens to a request for it. */
export const infoBodies = {
  missing: undefined,
  plain: info({}),
  gzip: info({ gzip: true }),
  zstd: info({ gzip: true, zstd: true }),
  "small batches": info({ runs: 20 }),
  "large batches": info({ runs: 5_000, gzip: true }),
  "no multipart": info({ multipart: false }),
  garbage: '{"batch_ingest_config":[7],"instance_flags":"yes","version":{}}',
  "no JSON": htmlPage,
  hangs: "hangs",
  fails: "fails",
} as const;

export type InfoName = keyof typeof infoBodies;

interface InfoSettings {
  readonly runs?: number;
  readonly multipart?: boolean;
  readonly gzip?: boolean;
  readonly zstd?: boolean;
}

function info({ runs = 100, multipart = true, gzip = false, zstd = false }: InfoSettings): string {
  return JSON.stringify({
    version: "0.5.0",
    batch_ingest_config: { size_limit: runs, use_multipart_endpoint: multipart },
    instance_flags: { gzip_body_enabled: gzip, zstd_compression_enabled: zstd },
  });
}

/** Whether a server with this `/info` accepts bodies with that encoding. */
export const acceptsEncoding = (name: InfoName, encoding: string): boolean =>
  encoding === "identity" ||
  (infoBodies[name] ?? "").includes(`"${encoding}_body_enabled":true`) ||
  (encoding === "zstd" && name === "zstd");
