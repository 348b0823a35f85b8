import { parentPort } from "node:worker_threads";
import type { MessagePort } from "node:worker_threads";
import { serialize } from "node:v8";
import { SchemaValidator } from "./datasets/examples/schemas/schema-validator.ts";
import type { SchemaErrors } from "./datasets/examples/schemas/schema-validator.ts";
import { renderPrompt, scoreOutput } from "./experiments/launch/launch-tasks.ts";
import type { RenderTask, ScoreTask } from "./experiments/launch/launch-tasks.ts";
import { encodePacked } from "./ingest-log/encode-task.ts";
import type { EncodeTask } from "./ingest-log/encode-task.ts";
import { fillJudgePrompt } from "./judges/judge-prompt.ts";
import type { JudgePromptTask } from "./judges/judge-prompt.ts";
import { forwardWarnings } from "./storage/thread-warnings.ts";
import { messageOf, RequestError } from "./model/errors.ts";
import type { ParsedBatch } from "./runs/ingest/batch-builder.ts";
import { parseOneRun, decodeBatch } from "./runs/ingest/parse-batch.ts";
import { decodeSpans } from "./otlp/decode.ts";
import { toBatch } from "./otlp/to-batch.ts";
import { packPosts } from "./runs/sqlite/post-rows.ts";
import { unpack } from "./datasets/examples/large-examples.ts";
import {
  readExamples,
  parseExamplesTask,
  parseImport,
  serializeResponse,
} from "./datasets/examples/parse/parse-examples.ts";
import type { BatchTask, RunTask, DecodedRuns } from "./runs/run-tasks.ts";
import type {
  ExampleResponseTask,
  ExampleCheckTask,
  ExampleImportTask,
  ExamplesTask,
  SchemaTask,
} from "./datasets/examples/example-tasks.ts";
import type { SpansTask } from "./otlp/spans-task.ts";
import type { ResultOf, WorkMessage } from "./storage/work-threads.ts";

// A thread for work whose duration depends on the request, such as parsing large bodies, checking schemas and rendering
// prompts. The thread is terminated if a task takes too long.

type Task =
  | RenderTask
  | ScoreTask
  | JudgePromptTask
  | RunsTask
  | SchemaTask
  | ExamplesTask
  | ExampleCheckTask
  | ExampleImportTask
  | ExampleResponseTask
  | EncodeTask;

if (parentPort !== null) {
  forwardWarnings("work");
  start(parentPort);
}

function start(port: MessagePort): void {
  const schemaValidator = new SchemaValidator();
  port.on("message", (task: Task) => {
    try {
      const { result, transferList } = performTask(schemaValidator, task);
      port.postMessage({ kind: "done", result } satisfies WorkMessage, transferList);
    } catch (cause) {
      port.postMessage(toErrorMessage(cause));
    }
  });
  port.postMessage({ kind: "ready" } satisfies WorkMessage);
}

const toErrorMessage = (cause: unknown): WorkMessage =>
  cause instanceof RequestError
    ? { kind: "refused", status: cause.status, detail: cause.message }
    : { kind: "refused", status: 500, detail: `the server failed: ${messageOf(cause)}` };

interface TaskResult {
  readonly result: ResultOf<Task>;
  /** Buffers of the result to transfer, not copy, to the server thread. */
  readonly transferList: readonly ArrayBuffer[];
}

function performTask(schemaValidator: SchemaValidator, task: Task): TaskResult {
  switch (task.kind) {
    case "schema":
      return { result: checkSchemas(schemaValidator, task), transferList: [] };
    case "renderPrompt":
      return { result: renderPrompt(task), transferList: [] };
    case "scoreOutput":
      return { result: scoreOutput(task), transferList: [] };
    case "fillJudgePrompt":
      return { result: fillJudgePrompt(task), transferList: [] };
    case "examples": {
      const result = parseExamplesTask(task, joinChunks(task.chunks));
      return { result, transferList: result.parts.map(({ buffer }) => buffer) };
    }
    case "exampleImport": {
      const result = parseImport(task.datasetId, joinChunks(task.chunks));
      return { result, transferList: result.parts.map(({ buffer }) => buffer) };
    }
    case "exampleCheck":
      return toJsonResult({ rejected: findInvalidExamples(schemaValidator, task) });
    case "logMessages": {
      const result = encodePacked(task);
      return { result, transferList: result.messages.map(({ buffer }) => buffer) };
    }
    case "exampleResponse":
      return toTransferableResult(serializeResponse(task));
    default: {
      const result = parseRuns(task);
      const transferList = [result.bodies.buffer, ...(result.packed ? [result.packed.buffer] : [])];
      return { result, transferList };
    }
  }
}

const toJsonResult = (value: unknown): TaskResult =>
  toTransferableResult(Buffer.from(JSON.stringify(value)));

function toTransferableResult(bytes: Buffer): TaskResult {
  const result = copyToOwnBuffer(bytes);
  return { result, transferList: [result.buffer] };
}

function findInvalidExamples(
  schemaValidator: SchemaValidator,
  { chunks, datasetId, schemas }: ExampleCheckTask,
): SchemaErrors {
  const examples = readExamples({ body: joinChunks(chunks), format: { kind: "list" }, datasetId });
  return schemaValidator.findInvalid(
    schemas,
    examples.map(({ draft }) => draft),
  );
}

const joinChunks = (chunks: readonly Uint8Array[]): Buffer => Buffer.concat(chunks);

type RunsTask = BatchTask | RunTask | SpansTask;

function parseRuns(task: RunsTask): DecodedRuns {
  const chunks = task.chunks.map((chunk) =>
    Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength),
  );
  switch (task.kind) {
    case "batch":
      return packRuns(decodeBatch(chunks), []);
    case "run": {
      const { operation, pathId } = task;
      const rules = { position: "optional", ...(pathId !== undefined && { pathId }) } as const;
      return packRuns(parseOneRun(Buffer.concat(chunks), operation, rules), []);
    }
    case "spans": {
      const body = Buffer.concat(chunks);
      const { spans, spanErrors } = decodeSpans(body, task.encoding);
      const batch = toBatch(spans, { project: task.project, expectedBytes: body.length });
      return packRuns(
        batch,
        spanErrors.map(({ reason }) => reason),
      );
    }
  }
}

function packRuns(
  { batch, rejected }: ParsedBatch,
  spanErrorMessages: readonly string[],
): DecodedRuns {
  const { records, attachments, feedback } = batch;
  const count = records.length + attachments.length + feedback.length;
  const { bodies, ...content } = packPosts(batch);
  return {
    packed: count === 0 ? undefined : copyToOwnBuffer(serialize(content)),
    bodies,
    rejected,
    spanErrorMessages,
  };
}

/**
 * Copies bytes into a buffer of their own, which can be transferred. Node's small buffers can't, because they share
 * the memory of a pool.
 */
const copyToOwnBuffer = (bytes: Buffer): Uint8Array<ArrayBuffer> => new Uint8Array(bytes);

function checkSchemas(
  schemaValidator: SchemaValidator,
  { schemas, examples, mode }: SchemaTask,
): SchemaErrors {
  schemaValidator.assertSchemas(schemas);
  const allExamples = examples.flatMap(unpack);
  if (mode === "report") {
    return schemaValidator.findInvalid(schemas, allExamples);
  }
  schemaValidator.assertValid(schemas, allExamples);
  return {};
}
