// A server in a process of its own that fails as it is told, and writes down each run that it keeps,
// before it answers. Its parent switches the fault while requests are under way.
import { openSync, writeSync } from "node:fs";
import { createServer } from "node:http";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import * as zlib from "node:zlib";
import { parsePartName } from "../../../src/workers/wire.ts";
import { readMultipart } from "../../interop/strict/read-multipart.ts";
import { anyFault, down, faults, infos, reads } from "./faults.ts";
import type { Fault, InfoName } from "./faults.ts";
import { endPrint, filePrint, startPrint } from "./fingerprint.ts";
import { lineText, nowhere } from "./journal.ts";
import { Random } from "./random.ts";

/** What its parent says to it. */
export interface ServerOrder {
  readonly fault?: string;
  readonly info?: InfoName;
}

/** What a run, or part of one, says when all of its parts are put together. */
type WireRun = Record<string, unknown>;

const [, , journalPath = "", seed = "1", port = "0"] = process.argv;
const journal = openSync(journalPath, "a");
const random = new Random(Number(seed));
const healthy: Fault = {
  answer: ({ keep, response }) => (keep(), void response.writeHead(202).end("{}")),
};
const mixed = [...faults.values()];
const state: { fault: string; info: InfoName } = { fault: "none", info: "plain" };
const sockets = new Set<Socket>();
let server: Server | undefined;

function currentFault(): Fault {
  if (state.fault !== anyFault) {
    return faults.get(state.fault) ?? healthy;
  }
  return random.chance(0.5) ? healthy : (mixed[random.integer(0, mixed.length - 1)] ?? healthy);
}

function onRequest(request: IncomingMessage, response: ServerResponse): void {
  request.on("error", () => undefined);
  response.on("error", () => undefined);
  const path = request.url ?? "";
  if (path === "/info") {
    answerInfo(response);
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
    if (!reads(info, encoding)) {
      response.writeHead(415).end('{"detail":"unsupported encoding"}');
      return;
    }
    const { runs, files } = bodyOf(request, decoded(Buffer.concat(chunks), encoding));
    const bad = runs.filter(({ run }) => run["name"] === "bad").map(({ run }) => String(run["id"]));
    const keep = (without?: "bad"): void => {
      const left = new Set(without === "bad" ? bad : []);
      const kept = runs.filter(({ run }) => !left.has(String(run["id"])));
      const keptFiles = files.filter(({ runId }) => !left.has(runId));
      writeSync(journal, kept.map(linesOf).join("") + keptFiles.map(fileLine).join(""));
    };
    fault.answer({ response, path, runs: runs.length, badIds: bad, keep, random });
  });
}

function answerInfo(response: ServerResponse): void {
  const body = infos[state.info];
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

/** Node has it from 22.15 on; only there do clients send it. */
function unzstd(body: Buffer): Buffer {
  const decompress: unknown = Reflect.get(zlib, "zstdDecompressSync");
  if (typeof decompress !== "function") {
    throw new TypeError("this Node reads no zstd");
  }
  return Reflect.apply(decompress, undefined, [body]) as Buffer;
}

interface SeenRun {
  readonly operation: "post" | "patch";
  readonly run: WireRun;
}

interface SeenFile {
  readonly runId: string;
  readonly print: string;
}

interface SeenBody {
  readonly runs: readonly SeenRun[];
  readonly files: readonly SeenFile[];
}

function bodyOf(request: IncomingMessage, body: Buffer): SeenBody {
  try {
    const type = request.headers["content-type"] ?? "";
    return type.startsWith("multipart/")
      ? partsOf(type, body)
      : { runs: runsOfJson(request, body), files: [] };
  } catch (error) {
    writeSync(journal, lineText({ is: "odd", why: String(error).slice(0, 200) }));
    return { runs: [], files: [] };
  }
}

function runsOfJson(request: IncomingMessage, body: Buffer): readonly SeenRun[] {
  const value = JSON.parse(body.toString("utf8")) as WireRun;
  if (request.url?.endsWith("/batch") !== true) {
    return [{ operation: request.method === "PATCH" ? "patch" : "post", run: value }];
  }
  const { post = [], patch = [] } = value as Record<string, WireRun[]>;
  return [
    ...post.map((run): SeenRun => ({ operation: "post", run })),
    ...patch.map((run): SeenRun => ({ operation: "patch", run })),
  ];
}

function partsOf(type: string, body: Buffer): SeenBody {
  const runs = new Map<string, SeenRun>();
  const files: SeenFile[] = [];
  const { parts, problems } = readMultipart(type, body);
  for (const { detail } of problems) {
    throw new Error(detail);
  }
  for (const { name: text, length, bytes } of parts) {
    const name = parsePartName(text);
    if (length !== bytes.length) {
      throw new Error(`${text} says ${length} bytes and has ${bytes.length}`);
    }
    if (name?.kind === "run") {
      const { operation, runId } = name;
      runs.set(`${operation} ${runId}`, { operation, run: parsed(bytes) as WireRun });
    } else if (name?.kind === "field") {
      const seen = runs.get(`${name.operation} ${name.runId}`);
      if (seen === undefined) {
        throw new Error("a field before its run");
      }
      seen.run[name.field] = parsed(bytes);
    } else if (name?.kind === "attachment") {
      files.push({ runId: name.runId, print: filePrint(bytes) });
    } else {
      throw new Error(`no part of a run: ${text}`);
    }
  }
  return { runs: [...runs.values()], files };
}

const parsed = (bytes: Buffer): unknown => JSON.parse(bytes.toString("utf8"));

const fileLine = ({ runId, print }: SeenFile): string =>
  lineText({ is: "got", id: runId, part: "file", print, place: nowhere });

function linesOf({ operation, run }: SeenRun): string {
  const id = String(run["id"]);
  const place = String(run["dotted_order"]);
  const segments = place.split(".");
  const traceId = segments[0]?.slice(-36);
  const parentId = segments.at(-2)?.slice(-36);
  if (run["trace_id"] !== traceId || run["parent_run_id"] !== parentId || !place.endsWith(id)) {
    return lineText({ is: "odd", why: `place of ${id}` });
  }
  let lines = "";
  if (operation === "post") {
    const { metadata } = run["extra"] as WireRun;
    const { name, run_type, inputs } = run;
    const print = startPrint({ name, run_type, inputs, metadata });
    lines += lineText({ is: "got", id, part: "start", print, place });
  }
  if ("outputs" in run) {
    const print = endPrint({ outputs: run["outputs"], error: run["error"] });
    lines += lineText({ is: "got", id, part: "end", print, place });
  }
  const { events = [] } = run as { events?: readonly WireRun[] };
  if (events.some(({ attachment }) => attachment === "file")) {
    lines += lineText({ is: "left", id, part: "file" });
  }
  return lines === "" ? lineText({ is: "odd", why: `nothing of ${id}` }) : lines;
}

async function listen(at: number): Promise<number> {
  const made = createServer({ keepAliveTimeout: 1_000 }, onRequest);
  made.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
    socket.on("error", () => undefined);
  });
  made.on("clientError", (_error, socket) => socket.destroy());
  server = made;
  await new Promise<void>((resolve, reject) => {
    made.once("error", reject);
    made.listen(at, "127.0.0.1", resolve);
  });
  return (made.address() as AddressInfo).port;
}

const listening = await listen(Number(port));

process.on("message", (order: ServerOrder) => {
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
    void listen(listening);
  }
});
process.on("disconnect", () => process.exit());
process.send?.({ port: listening });
