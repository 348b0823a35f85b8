import type { IncomingMessage, ServerResponse } from "node:http";
import type { Random } from "./random.ts";

/** A request to the ingest whose body arrived. */
export interface Ingest {
  readonly response: ServerResponse;
  readonly path: string;
  /** How many runs it holds, and how many of them are named as bad. */
  readonly runs: number;
  readonly badIds: readonly string[];
  /** Reads the runs and writes them down, but for the bad ones where `without` says so. */
  readonly keep: (without?: "bad") => void;
  readonly random: Random;
}

export interface Fault {
  /** Takes part of a request as it begins; true where that is the end of it. */
  readonly begin?: (request: IncomingMessage, response: ServerResponse) => boolean;
  readonly answer: (ingest: Ingest) => void;
}

const reply = (
  response: ServerResponse,
  status: number,
  body = "{}",
  headers: Readonly<Record<string, string>> = { "content-type": "application/json" },
): void => {
  response.writeHead(status, headers).end(body);
};

const accept = ({ keep, response }: Ingest): void => {
  keep();
  reply(response, 202);
};

/** Says no to everything, and keeps nothing. */
const refusal = (status: number, headers?: Readonly<Record<string, string>>): Fault => ({
  answer: ({ response }) => reply(response, status, '{"detail":"no"}', headers),
});

/** Keeps what came, and answers in another way than one would. */
const oddAnswer = (answer: (response: ServerResponse) => void): Fault => ({
  answer: ({ keep, response }) => {
    keep();
    answer(response);
  },
});

/** Refuses requests with bad runs in them, as a whole. */
const refuseWithBad = (status: number): Fault => ({
  answer: (ingest) => (ingest.badIds.length > 0 ? reply(ingest.response, status) : accept(ingest)),
});

const single = (path: string): boolean => /\/runs(\/[\da-f-]{36})?$/.test(path);

const htmlPage = "<!doctype html><title>Welcome</title><h1>Sign in</h1>";
const html = { "content-type": "text/html" };
const slowMs = 400;

const plain = {
  none: { answer: accept },
  slow: { answer: (ingest) => void setTimeout(() => accept(ingest), slowMs) },
  "a little slow": {
    answer: (ingest) => void setTimeout(() => accept(ingest), ingest.random.integer(1, 60)),
  },
  "resets before the body": {
    begin: (request) => {
      request.socket.resetAndDestroy();
      return true;
    },
    answer: accept,
  },
  "resets in mid-body": {
    begin: (request) => {
      request.once("data", () => request.socket.resetAndDestroy());
      request.on("error", () => undefined);
      return true;
    },
    answer: accept,
  },
  "keeps, then resets": oddAnswer((response) => response.socket?.resetAndDestroy()),
  "keeps, then says nothing": oddAnswer(() => undefined),
  "hangs before the body": { begin: () => true, answer: accept },
  "drips its head": oddAnswer((response) => {
    const { socket } = response;
    const drip = setInterval(() => socket?.write("H"), 100);
    socket?.once("close", () => clearInterval(drip));
  }),
  "drips its body": oddAnswer((response) => {
    const drip = setInterval(() => response.write(" "), 50);
    response.once("close", () => clearInterval(drip));
    response.writeHead(202);
  }),
  "breaks its answer off": oddAnswer((response) => {
    response.writeHead(202, { "content-length": "99" });
    response.write("{", () => response.socket?.destroy());
  }),
  "closes after each answer": oddAnswer((response) => {
    reply(response, 202, "{}", { connection: "close" });
  }),
  "drops idle connections": oddAnswer((response) => {
    const { socket } = response;
    reply(response, 202);
    // No word of it: the next request may be on its way already.
    response.once("finish", () => setTimeout(() => socket?.destroy(), 15));
  }),
  "says yes in HTML": oddAnswer((response) => reply(response, 200, htmlPage, html)),
  "says yes without a word": oddAnswer((response) => response.writeHead(204).end()),
  "says yes in garbage": oddAnswer((response) => reply(response, 202, '{"rejected":[{"id"')),
  "has it already": oddAnswer((response) => reply(response, 409, '{"detail":"received before"}')),
  "is no server of HTTP": oddAnswer((response) => {
    response.socket?.end("220 mail.test ESMTP\r\n");
  }),
  "points elsewhere": refusal(302, { location: "http://127.0.0.1:9/runs/multipart" }),
  "refuses batches with a bad run": refuseWithBad(422),
  "refuses batches with a bad run as invalid": refuseWithBad(400),
  "takes the good runs and names the bad": {
    answer: ({ keep, response, badIds }) => {
      keep("bad");
      const rejected = badIds.map((id) => ({ id, reason: "bad" }));
      reply(response, 202, JSON.stringify({ rejected }));
    },
  },
  "takes small batches only": {
    answer: (ingest) => (ingest.runs > 7 ? reply(ingest.response, 413) : accept(ingest)),
  },
  "has no multipart": {
    answer: (ingest) =>
      ingest.path.endsWith("/multipart") ? reply(ingest.response, 404) : accept(ingest),
  },
  "takes single runs only": {
    answer: (ingest) => (single(ingest.path) ? accept(ingest) : reply(ingest.response, 405)),
  },
  "has none of the paths": refusal(404),
} as const satisfies Readonly<Record<string, Fault>>;

/** What may be asked of a client with 429 and 503: numbers, dates, nonsense. */
const retryAfters = ["0", "1", "-5", "soon", "86400", "1.5", "", "Sun, 06 Nov 1994 08:49:37 GMT"];

const statuses = [
  400, 401, 402, 403, 406, 407, 408, 410, 411, 418, 425, 500, 501, 502, 503, 504, 507,
];

export const faults: ReadonlyMap<string, Fault> = new Map<string, Fault>([
  ...Object.entries(plain),
  ...statuses.map((status): [string, Fault] => [`answers ${status}`, refusal(status)]),
  ...retryAfters.flatMap((after): [string, Fault][] =>
    [429, 503].map((status) => [
      `answers ${status}, Retry-After: ${after}`,
      refusal(status, { "retry-after": after }),
    ]),
  ),
]);

/** Another fault each time, or none: as a server under a bad load balancer. */
export const anyFault = "something else each time";
/** No socket listens. */
export const down = "is down";

export const faultNames: readonly string[] = [
  ...[...faults.keys()].filter((name) => name !== "none" && name !== "slow"),
  anyFault,
  down,
];

/** What a server says at `/info`. */
export const infos = {
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

export type InfoName = keyof typeof infos;

interface InfoFacts {
  readonly runs?: number;
  readonly multipart?: boolean;
  readonly gzip?: boolean;
  readonly zstd?: boolean;
}

function info({ runs = 100, multipart = true, gzip = false, zstd = false }: InfoFacts): string {
  return JSON.stringify({
    version: "0.5.0",
    batch_ingest_config: { size_limit: runs, use_multipart_endpoint: multipart },
    instance_flags: { gzip_body_enabled: gzip, zstd_compression_enabled: zstd },
  });
}

/** Whether a server that says this reads bodies of that encoding. */
export const reads = (name: InfoName, encoding: string): boolean =>
  encoding === "identity" ||
  (infos[name] ?? "").includes(`"${encoding}_body_enabled":true`) ||
  (encoding === "zstd" && name === "zstd");
