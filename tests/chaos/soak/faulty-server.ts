// A server in a separate process that fails as commanded. It writes each stored run to its journal
// before it responds. Its parent process switches the fault while requests are in flight.
import { openSync, writeSync } from "node:fs";
import { createServer } from "node:http";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import * as zlib from "node:zlib";
import { parsePartName } from "../../../src/workers/wire.ts";
import { readMultipart } from "../../interop/strict/read-multipart.ts";
import { anyFault, down, faults, infoBodies, acceptsEncoding } from "./faults.ts";
import type { Fault, InfoName } from "./faults.ts";
import { endFingerprint, fileFingerprint, startFingerprint } from "./fingerprint.ts";
import { formatLine, noDottedOrder } from "./journal.ts";
import { Random } from "./random.ts";

/** A command from the parent process. */
export interface ServerCommand {
  readonly fault?: string;
  readonly info?: InfoName;
}

/** A run, or part of one, after all of its multipart parts were joined. */
type WireRun = Record<string, unknown>;

const [, , journalPath = "", seed = "1", port = "0", basePath = ""] = process.argv;
const journal = openSync(journalPath, "a");
// The server before this one may have been killed within a line.
writeSync(journal, "\n");
const random = new Random(Number(seed));
const healthy: Fault = {
  respond: ({ store, response }) => (store(), void response.writeHead(202).end("{}")),
};
const allFaults = [...faults.values()];
const state: { fault: string; info: InfoName } = { fault: "none", info: "plain" };
const sockets = new Set<Socket>();
let server: Server | undefined;

function currentFault(): Fault {
  if (state.fault !== anyFault) {
    return faults.get(state.fault) ?? healthy;
  }
  return random.chance(0.5)
    ? healthy
    : (allFaults[random.integer(0, allFaults.length - 1)] ?? healthy);
}

function onRequest(request: IncomingMessage, response: ServerResponse): void {
  request.on("error", () => undefined);
  response.on("error", () => undefined);
  const path = request.url ?? "";
  if (path === `${basePath}/info`) {
    respondToInfo(response);
    return;
  }
  const fault = currentFault();
  if (fault.begin?.(request, response) === true) {
    return;
  }
  const { info } = state;
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => {
    const encoding = request.headers["content-encoding"] ?? "identity";
    if (!acceptsEncoding(info, encoding)) {
      response.writeHead(415).end('{"detail":"unsupported encoding"}');
      return;
    }
    const { runs, files } = bodyOf(request, decoded(Buffer.concat(chunks), encoding));
    const badIds = runs
      .filter(({ run }) => run["name"] === "bad")
      .map(({ run }) => String(run["id"]));
    const store = (without?: "bad"): void => {
      const excluded = new Set(without === "bad" ? badIds : []);
      const storedRuns = runs.filter(({ run }) => !excluded.has(String(run["id"])));
      const storedFiles = files.filter(({ runId }) => !excluded.has(runId));
      writeSync(journal, storedRuns.map(linesOf).join("") + storedFiles.map(fileLine).join(""));
    };
    fault.respond({ response, path, runs: runs.length, badIds: badIds, store: store, random });
  });
}

function respondToInfo(response: ServerResponse): void {
  const body = infoBodies[state.info];
  if (body === "hangs") {
    return;
  }
  const status = { missing: 404, fails: 500 }[state.info as string] ?? 200;
  response.writeHead(status, { "content-type": "application/json" }).end(body ?? "{}");
}

function decoded(body: Buffer, encoding: string): Buffer {
  switch (encoding) {
    case "gzip":
      return zlib.gunzipSync(body);
    case "zstd":
      return unzstd(body);
    default:
      return body;
  }
}

/** Decompresses zstd, which Node supports from 22.15 on. Clients only send zstd under such a Node. */
function unzstd(body: Buffer): Buffer {
  const decompress: unknown = Reflect.get(zlib, "zstdDecompressSync");
  if (typeof decompress !== "function") {
    throw new TypeError("This Node does not support zstd");
  }
  return Reflect.apply(decompress, undefined, [body]) as Buffer;
}

interface ReceivedRun {
  readonly operation: "post" | "patch";
  readonly run: WireRun;
}

interface ReceivedFile {
  readonly runId: string;
  readonly print: string;
}

interface ReceivedBody {
  readonly runs: readonly ReceivedRun[];
  readonly files: readonly ReceivedFile[];
}

function bodyOf(request: IncomingMessage, body: Buffer): ReceivedBody {
  try {
    const type = request.headers["content-type"] ?? "";
    return type.startsWith("multipart/")
      ? partsOf(type, body)
      : { runs: runsOfJson(request, body), files: [] };
  } catch (error) {
    writeSync(journal, formatLine({ is: "malformed", why: String(error).slice(0, 200) }));
    return { runs: [], files: [] };
  }
}

function runsOfJson(request: IncomingMessage, body: Buffer): readonly ReceivedRun[] {
  const value = JSON.parse(body.toString("utf8")) as WireRun;
  if (request.url?.endsWith("/batch") !== true) {
    return [{ operation: request.method === "PATCH" ? "patch" : "post", run: value }];
  }
  const { post = [], patch = [] } = value as Record<string, WireRun[]>;
  return [
    ...post.map((run): ReceivedRun => ({ operation: "post", run })),
    ...patch.map((run): ReceivedRun => ({ operation: "patch", run })),
  ];
}

function partsOf(type: string, body: Buffer): ReceivedBody {
  const runs = new Map<string, ReceivedRun>();
  const files: ReceivedFile[] = [];
  const { parts, problems } = readMultipart(type, body);
  for (const { detail } of problems) {
    throw new Error(detail);
  }
  for (const { name: text, length, bytes } of parts) {
    const name = parsePartName(text);
    if (length !== bytes.length) {
      throw new Error(`${text} declares ${length} bytes and has ${bytes.length}`);
    }
    if (name?.kind === "run") {
      const { operation, runId } = name;
      runs.set(`${operation} ${runId}`, { operation, run: parsed(bytes) as WireRun });
    } else if (name?.kind === "field") {
      const received = runs.get(`${name.operation} ${name.runId}`);
      if (received === undefined) {
        throw new Error("a field before its run");
      }
      received.run[name.field] = parsed(bytes);
    } else if (name?.kind === "attachment") {
      files.push({ runId: name.runId, print: fileFingerprint(bytes) });
    } else {
      throw new Error(`not a part of a run: ${text}`);
    }
  }
  return { runs: [...runs.values()], files };
}

const parsed = (bytes: Buffer): unknown => JSON.parse(bytes.toString("utf8"));

const fileLine = ({ runId, print }: ReceivedFile): string =>
  formatLine({ is: "stored", id: runId, part: "file", print, dottedOrder: noDottedOrder });

function linesOf({ operation, run }: ReceivedRun): string {
  const id = String(run["id"]);
  const dottedOrder = String(run["dotted_order"]);
  const segments = dottedOrder.split(".");
  const traceId = segments[0]?.slice(-36);
  const parentId = segments.at(-2)?.slice(-36);
  if (
    run["trace_id"] !== traceId ||
    run["parent_run_id"] !== parentId ||
    !dottedOrder.endsWith(id)
  ) {
    return formatLine({ is: "malformed", why: `dotted order of ${id}` });
  }
  let lines = "";
  if (operation === "post") {
    const { metadata } = run["extra"] as WireRun;
    const { name, run_type, inputs } = run;
    const print = startFingerprint({ name, run_type, inputs, metadata });
    lines += formatLine({ is: "stored", id, part: "start", print, dottedOrder });
  }
  if ("outputs" in run) {
    const print = endFingerprint({ outputs: run["outputs"], error: run["error"] });
    lines += formatLine({ is: "stored", id, part: "end", print, dottedOrder });
  }
  const { events = [] } = run as { events?: readonly WireRun[] };
  if (events.some(({ attachment }) => attachment === "file")) {
    lines += formatLine({ is: "omitted", id, part: "file" });
  }
  return lines === ""
    ? formatLine({ is: "malformed", why: `neither start nor end of ${id}` })
    : lines;
}

async function listen(atPort: number): Promise<number> {
  const newServer = createServer({ keepAliveTimeout: 1_000 }, onRequest);
  newServer.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
    socket.on("error", () => undefined);
  });
  newServer.on("clientError", (_error, socket) => socket.destroy());
  server = newServer;
  await new Promise<void>((resolve, reject) => {
    newServer.once("error", reject);
    newServer.listen(atPort, "127.0.0.1", resolve);
  });
  return (newServer.address() as AddressInfo).port;
}

const listeningPort = await listen(Number(port));

process.on("message", (order: ServerCommand) => {
  state.info = order.info ?? state.info;
  if (order.fault === undefined) {
    return;
  }
  const wasDown = state.fault === down;
  state.fault = order.fault;
  if (order.fault === down && !wasDown) {
    server?.close();
    for (const socket of sockets) {
      socket.resetAndDestroy();
    }
  } else if (order.fault !== down && wasDown) {
    void listen(listeningPort);
  }
});
process.on("disconnect", () => process.exit());
process.send?.({ port: listeningPort });
