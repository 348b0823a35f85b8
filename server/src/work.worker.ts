import { parentPort } from "node:worker_threads";
import type { MessagePort } from "node:worker_threads";
import { serialize } from "node:v8";
import { SchemaCheck } from "./datasets/schema-check.ts";
import { messageOf, RequestError } from "./errors.ts";
import type { ParsedBatch } from "./ingest/batch-builder.ts";
import { parseOneRun, takeBatch } from "./ingest/parse-batch.ts";
import { decodeSpans } from "./otlp/decode.ts";
import { toBatch } from "./otlp/to-batch.ts";
import { packPosts } from "./store/sqlite/post-rows.ts";
import type { Misfits, TakenRuns, WorkMessage, WorkTask } from "./work/work-protocol.ts";

// Work whose time a sender decides: bodies that are large, and schemas. It has a thread of its own, which
// is ended where it takes too long.

if (parentPort !== null) {
  start(parentPort);
}

function start(port: MessagePort): void {
  const schemas = new SchemaCheck();
  port.on("message", (task: WorkTask) => {
    try {
      if (task.kind === "schema") {
        port.postMessage({ kind: "done", result: check(schemas, task) } satisfies WorkMessage);
      } else {
        const result = takeRuns(task);
        const memory = [result.bodies.buffer, ...(result.packed ? [result.packed.buffer] : [])];
        port.postMessage({ kind: "done", result } satisfies WorkMessage, memory);
      }
    } catch (cause) {
      port.postMessage(toRefusal(cause));
    }
  });
  port.postMessage({ kind: "ready" } satisfies WorkMessage);
}

const toRefusal = (cause: unknown): WorkMessage =>
  cause instanceof RequestError
    ? { kind: "refused", status: cause.status, detail: cause.message }
    : { kind: "refused", status: 500, detail: `the server failed: ${messageOf(cause)}` };

type RunsTask = Exclude<WorkTask, { kind: "schema" }>;

function takeRuns(task: RunsTask): TakenRuns {
  const pieces = task.pieces.map((piece) =>
    Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength),
  );
  switch (task.kind) {
    case "batch":
      return pack(takeBatch(pieces), []);
    case "run": {
      const { operation, pathId } = task;
      const rules = { place: "optional", ...(pathId !== undefined && { pathId }) } as const;
      return pack(parseOneRun(Buffer.concat(pieces), operation, rules), []);
    }
    case "spans": {
      const body = Buffer.concat(pieces);
      const { spans, faults } = decodeSpans(body, task.encoding);
      const batch = toBatch(spans, { project: task.project, expectedBytes: body.length });
      return pack(
        batch,
        faults.map(({ reason }) => reason),
      );
    }
  }
}

function pack({ batch, rejected }: ParsedBatch, faults: readonly string[]): TakenRuns {
  const { bodies, ...rest } = batch.posts === undefined ? packPosts(batch) : batch;
  const { posts, records, attachments, feedback } = rest;
  const count =
    (posts?.facetsAt.length ?? 0) + records.length + attachments.length + feedback.length;
  return { packed: count === 0 ? undefined : toOwn(serialize(rest)), bodies, rejected, faults };
}

/** In memory of its own: small ones share it with others. */
const toOwn = (bytes: Buffer): Uint8Array<ArrayBuffer> => new Uint8Array(bytes);

function check(
  schemas: SchemaCheck,
  { schemas: own, examples, finds }: WorkTask & { readonly kind: "schema" },
): Misfits {
  schemas.assertSchemas(own);
  if (finds === "misfits") {
    return schemas.findMisfits(own, examples);
  }
  schemas.assertFit(own, examples);
  return {};
}
