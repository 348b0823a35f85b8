import type { FastifyReply, FastifyRequest } from "fastify";
import type { Operation } from "millrace/model";
import { RequestError } from "../../model/errors.ts";
import { joinChunks, readChunks, readBodyChunks, isLarge } from "../../bodies/read-body.ts";
import type { ParsedBatch } from "../ingest/batch-builder.ts";
import type { ContentCache } from "../ingest/content-cache.ts";
import { MultipartBatch } from "../ingest/multipart-batch.ts";
import { MultipartParser, readBoundary } from "../../bodies/multipart-parser.ts";
import { parseBatch, parseOneRun, walkBatch } from "../ingest/parse-batch.ts";
import { serverLimits } from "../../model/options.ts";
import type { IngestResult } from "../run-record.ts";
import type { RunStore } from "../run-store.ts";
import type { BatchTask, RunTask, DecodedRuns } from "../run-tasks.ts";
import type { WorkThreads } from "../../storage/work-threads.ts";
import { parseId } from "../../http/query-string.ts";

/** `POST /runs`: stores a new run. */
export async function createRun(
  dependencies: IngestDependencies,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<unknown> {
  return replyToOne(reply, await ingestOne(dependencies, request, { operation: "post" }));
}

/** `PATCH /runs/{id}`: stores an update of a run. */
export async function updateRun(
  dependencies: IngestDependencies,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<unknown> {
  const { id } = request.params as { readonly id: string };
  return replyToOne(
    reply,
    await ingestOne(dependencies, request, { operation: "patch", pathId: parseId(id, "run id") }),
  );
}

/** `POST /runs/batch`: stores runs and updates of runs. */
export async function createBatch(
  { store, workThreads }: IngestDependencies,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<unknown> {
  const { tenantId } = request;
  const chunks = await readBodyChunks(request.raw);
  const parsedBatch = isLarge(chunks, serverLimits.largeRunsBytes) ? undefined : walkBatch(chunks);
  if (parsedBatch !== undefined) {
    return replyToMany(reply, await ingest(store, tenantId, parsedBatch));
  }
  const result = isLarge(chunks, serverLimits.unusualRunsBytes)
    ? await ingestDecoded(
        store,
        tenantId,
        await workThreads.run<BatchTask>(tenantId, { kind: "batch", chunks }),
      )
    : await ingest(store, tenantId, parseBatch(joinChunks(chunks)));
  return replyToMany(reply, result);
}

/** Receives runs: the store, or the ingest log in front of the store. */
export type RunReceiver = Pick<RunStore, "ingest">;

/** Dependencies of the handlers that ingest runs. */
export interface IngestDependencies {
  readonly store: RunReceiver;
  readonly workThreads: WorkThreads;
}

/** Stores runs that a worker thread has decoded. */
export async function ingestDecoded(
  store: RunReceiver,
  tenantId: string,
  { packed, bodies, rejected }: DecodedRuns,
): Promise<IngestResult> {
  if (packed === undefined) {
    return { accepted: 0, duplicates: 0, rejected };
  }
  const result = await store.ingest(tenantId, { packed, bodies });
  return { ...result, rejected: [...rejected, ...result.rejected] };
}

async function ingestOne(
  dependencies: IngestDependencies,
  { raw, tenantId }: FastifyRequest,
  operation: RunOperation,
): Promise<IngestResult> {
  return ingestChunks(dependencies, tenantId, { ...operation, chunks: await readBodyChunks(raw) });
}

/** Stores a run that the server itself creates, given as the body of `POST /runs`. */
export const ingestRun = (
  dependencies: IngestDependencies,
  tenantId: string,
  body: Buffer,
): Promise<IngestResult> =>
  ingestChunks(dependencies, tenantId, { operation: "post", chunks: [body] });

interface RunOperation {
  readonly operation: Operation;
  readonly pathId?: string;
}

async function ingestChunks(
  { store, workThreads }: IngestDependencies,
  tenantId: string,
  { operation, pathId, chunks }: RunOperation & { readonly chunks: readonly Buffer[] },
): Promise<IngestResult> {
  const pathIdRule = pathId === undefined ? {} : { pathId };
  if (isLarge(chunks, serverLimits.largeRunsBytes)) {
    const task: RunTask = { kind: "run", chunks, operation, ...pathIdRule };
    return ingestDecoded(store, tenantId, await workThreads.run(tenantId, task));
  }
  const rules = { position: "optional", ...pathIdRule } as const;
  return ingest(store, tenantId, parseOneRun(joinChunks(chunks), operation, rules));
}

export interface MultipartDependencies {
  readonly store: RunReceiver;
  readonly content: ContentCache;
}

/** `POST /runs/multipart`: stores runs, updates, attachments and feedback. */
export async function createMultipart(
  { store, content }: MultipartDependencies,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<unknown> {
  const expectedBytes = Number(request.headers["content-length"] ?? 0) || undefined;
  const contentSource = { content, tenantId: request.tenantId };
  const batch = new MultipartBatch(expectedBytes, contentSource);
  const parser = new MultipartParser(readBoundary(request.headers["content-type"]), (part) =>
    batch.add(part),
  );
  await readChunks(request.raw, (chunk) => parser.push(chunk));
  parser.end();
  await batch.parse();
  return replyToMany(reply, await ingest(store, request.tenantId, batch.build()));
}

/** Stores a batch. The result lists what the parser rejected, followed by what the store rejected. */
export async function ingest(
  store: RunReceiver,
  tenantId: string,
  { batch, rejected }: ParsedBatch,
): Promise<IngestResult> {
  const { records, attachments, feedback } = batch;
  if (records.length + attachments.length + feedback.length === 0) {
    return { accepted: 0, duplicates: 0, rejected };
  }
  const result = await store.ingest(tenantId, batch);
  return { ...result, rejected: [...rejected, ...result.rejected] };
}

function replyToOne(reply: FastifyReply, result: IngestResult): unknown {
  const [firstRejection] = result.rejected;
  if (firstRejection !== undefined) {
    throw new RequestError(400, firstRejection.reason);
  }
  if (result.duplicates > 0) {
    return reply.code(409).send({
      error: "Conflict: payload already received",
      detail: "Conflict: payload already received",
    });
  }
  return reply.code(202).send(result);
}

/**
 * Responds with 202 even if some runs of the request are invalid. Only a request without any valid run is refused.
 */
function replyToMany(reply: FastifyReply, result: IngestResult): unknown {
  const isRefused = result.rejected.length > 0 && result.accepted + result.duplicates === 0;
  if (!isRefused) {
    return reply.code(202).send(result);
  }
  const detail = result.rejected.map(({ id, operation, reason }) => ({
    loc: ["body", operation ?? "part", id ?? ""],
    msg: reason,
    type: "value_error",
  }));
  return reply.code(422).send({ detail, ...result });
}
