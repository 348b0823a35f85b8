import { parentPort, receiveMessageOnPort, workerData } from "node:worker_threads";
import type { MessagePort } from "node:worker_threads";
import { messageOf } from "../../errors.ts";
import { serverLimits } from "../../options.ts";
import { RunWriter } from "./run-writer.ts";
import { openWriter } from "./schema.ts";
import type { Connection } from "./schema.ts";
import type { WriterAnswers, WriterCall, WriterMessage } from "./writer-protocol.ts";

// The one thread that writes. Requests that wait together share a transaction: a commit costs the
// same for one run as for ten thousand.

if (parentPort !== null) {
  start(parentPort, String(workerData));
}

function start(port: MessagePort, path: string): void {
  const say = (message: WriterMessage): void => port.postMessage(message);
  try {
    const db = openWriter(path);
    const writer = new RunWriter(db);
    port.on("message", (first: WriterCall) => {
      if (writeGroup({ db, writer, say }, takeGroup(port, first)) === "closed") {
        db.close();
        port.close();
      }
    });
    say({ kind: "ready", tenantId: writer.tenantId });
  } catch (cause) {
    say({ kind: "failedToStart", reason: messageOf(cause) });
  }
}

/** The request that came, and those that wait behind it. */
function takeGroup(port: MessagePort, first: WriterCall): WriterCall[] {
  const group = [first];
  let bytes = sizeOf(first);
  while (bytes < serverLimits.groupBytes) {
    const next = receiveMessageOnPort(port)?.message as WriterCall | undefined;
    if (next === undefined) {
      break;
    }
    group.push(next);
    bytes += sizeOf(next);
  }
  return group;
}

function sizeOf({ request }: WriterCall): number {
  return request.kind === "ingest" ? request.batch.bodies.byteLength : 0;
}

interface Desk {
  readonly db: Connection;
  readonly writer: RunWriter;
  readonly say: (message: WriterMessage) => void;
}

/** All of a group is written and then answered, or all of it failed. */
function writeGroup({ db, writer, say }: Desk, group: readonly WriterCall[]): "closed" | "open" {
  const answers: WriterMessage[] = [];
  try {
    db.exec("BEGIN IMMEDIATE");
    for (const { sequence, request } of group) {
      answers.push({ kind: "answer", sequence, value: perform(writer, request) });
    }
    db.exec("COMMIT");
  } catch (cause) {
    rollBack(db);
    writer.forget();
    answers.length = 0;
    const reason = messageOf(cause);
    answers.push(...group.map(({ sequence }) => ({ kind: "failed", sequence, reason }) as const));
  }
  answers.forEach(say);
  return group.some(({ request }) => request.kind === "close") ? "closed" : "open";
}

function perform(
  writer: RunWriter,
  request: WriterCall["request"],
): WriterAnswers[keyof WriterAnswers] {
  switch (request.kind) {
    case "ingest":
      return writer.apply(request.batch);
    case "share":
      return writer.share(request.id);
    case "unshare":
      return writer.unshare(request.id) as undefined;
    case "createProject":
      return writer.projects.create(request.draft);
    case "updateProject":
      return writer.projects.update(request.id, request.changes);
    case "deleteProject":
      return writer.projects.delete(request.id);
    case "close":
      return undefined;
  }
}

function rollBack(db: Connection): void {
  if (db.inTransaction) {
    db.exec("ROLLBACK");
  }
}
