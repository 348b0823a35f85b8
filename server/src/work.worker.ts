import { parentPort } from "node:worker_threads";
import type { MessagePort } from "node:worker_threads";
import { serialize } from "node:v8";
import { SchemaCheck } from "./datasets/examples/schema-check.ts";
import { messageOf, RequestError } from "./model/errors.ts";
import type { ParsedBatch } from "./runs/ingest/batch-builder.ts";
import { parseOneRun, takeBatch } from "./runs/ingest/parse-batch.ts";
import { decodeSpans } from "./otlp/decode.ts";
import { toBatch } from "./otlp/to-batch.ts";
import { packPosts } from "./runs/sqlite/post-rows.ts";
import { unpack } from "./datasets/examples/large-examples.ts";
import {
  readExamples,
  takeExamples,
  takeImport,
  toAnswer,
} from "./datasets/examples/take-examples.ts";
import type { BatchTask, RunTask, TakenRuns } from "./runs/run-tasks.ts";
import type {
  ExampleAnswerTask,
  ExampleCheckTask,
  ExampleImportTask,
  ExamplesTask,
  Misfits,
  SchemaTask,
} from "./datasets/examples/example-tasks.ts";
import type { SpansTask } from "./otlp/spans-task.ts";
import type { ResultOf, WorkMessage } from "./storage/work-threads.ts";

// Work whose time a sender decides: bodies that are large, and schemas. It has a thread of its own, which
// is ended where it takes too long.

type Task =
  | RunsTask
  | SchemaTask
  | ExamplesTask
  | ExampleCheckTask
  | ExampleImportTask
  | ExampleAnswerTask;

if (parentPort !== null) {
  start(parentPort);
}

function start(port: MessagePort): void {
  const schemas = new SchemaCheck();
  port.on("message", (task: Task) => {
    try {
      const { result, memory } = perform(schemas, task);
      port.postMessage({ kind: "done", result } satisfies WorkMessage, memory);
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

interface Performed {
  readonly result: ResultOf<Task>;
  /** What of it is given away. */
  readonly memory: readonly ArrayBuffer[];
}

function perform(schemas: SchemaCheck, task: Task): Performed {
  switch (task.kind) {
    case "schema":
      return { result: check(schemas, task), memory: [] };
    case "examples": {
      const result = takeExamples(task, join(task.pieces));
      return { result, memory: result.parts.map(({ buffer }) => buffer) };
    }
    case "exampleImport": {
      const result = takeImport(task.datasetId, join(task.pieces));
      return { result, memory: result.parts.map(({ buffer }) => buffer) };
    }
    case "exampleCheck":
      return toJson({ rejected: findMisfits(schemas, task) });
    case "exampleAnswer":
      return toOwned(toAnswer(task));
    default: {
      const result = takeRuns(task);
      const memory = [result.bodies.buffer, ...(result.packed ? [result.packed.buffer] : [])];
      return { result, memory };
    }
  }
}

const toJson = (value: unknown): Performed => toOwned(Buffer.from(JSON.stringify(value)));

function toOwned(bytes: Buffer): Performed {
  const result = toOwn(bytes);
  return { result, memory: [result.buffer] };
}

function findMisfits(
  schemas: SchemaCheck,
  { pieces, datasetId, schemas: own }: ExampleCheckTask,
): Misfits {
  const examples = readExamples({ body: join(pieces), shape: { kind: "list" }, datasetId });
  return schemas.findMisfits(
    own,
    examples.map(({ draft }) => draft),
  );
}

const join = (pieces: readonly Uint8Array[]): Buffer => Buffer.concat(pieces);

type RunsTask = BatchTask | RunTask | SpansTask;

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

function check(schemas: SchemaCheck, { schemas: own, examples, finds }: SchemaTask): Misfits {
  schemas.assertSchemas(own);
  const all = examples.flatMap(unpack);
  if (finds === "misfits") {
    return schemas.findMisfits(own, all);
  }
  schemas.assertFit(own, all);
  return {};
}
