import type { WithLinks } from "../../http/signed-links.ts";
import { readInputsAndOutputs } from "./source-run.ts";
import type { FastifyReply, FastifyRequest } from "fastify";
import { RequestError } from "../../model/errors.ts";
import { disableIdleTimeout } from "../../http/disable-idle-timeout.ts";
import { joinChunks, readBodyChunks, isLarge } from "../../bodies/read-body.ts";
import { serverLimits } from "../../model/options.ts";
import type { ExampleChange, ExampleDraft } from "./example.ts";
import { unpack } from "./large-examples.ts";
import type { Packed, ReceivedExample } from "./large-examples.ts";
import type { DatasetStore } from "../dataset-store.ts";
import {
  needsRun,
  readChanges,
  readExamples,
  toCreatedJson,
  toListJson,
  toWrittenJson,
} from "./parse/parse-examples.ts";
import type {
  ExampleResponseTask,
  ExampleCheckTask,
  ExamplesFormat,
  ExamplesTask,
} from "./example-tasks.ts";
import type { WorkThreads } from "../../storage/work-threads.ts";
import { findDataset } from "../dataset-handlers.ts";
import {
  readExampleId,
  createAttachmentLinker,
  sendExample,
  sendJson,
} from "./example-handlers.ts";

export interface ExampleWriteDependencies extends WithLinks<DatasetStore> {
  readonly workThreads: WorkThreads;
}

/** Handles `POST /examples`. Reads the body itself, because payloads are stored exactly as they were sent. */
export async function createExample(
  dependencies: ExampleWriteDependencies,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const { responseJson, ids } = await create(
    dependencies,
    { request, reply },
    { format: { kind: "one" }, responseForm: "created" },
  );
  const [id = ""] =
    ids ?? (JSON.parse(responseJson.toString()) as { example_ids: string[] }).example_ids;
  return sendStoredExample(dependencies, { request, reply, id });
}

/** `POST /examples/bulk`: creates a list of examples and returns them. */
export async function createExamples(
  dependencies: ExampleWriteDependencies,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const { responseJson } = await create(
    dependencies,
    { request, reply },
    { format: { kind: "list" }, responseForm: "list" },
  );
  return sendJson(reply, responseJson);
}

/** Handles `PATCH /examples/{id}`. */
export async function updateExample(
  dependencies: ExampleWriteDependencies,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const id = readExampleId(request);
  await update(dependencies, { request, reply }, { format: { kind: "one", id } });
  return sendStoredExample(dependencies, { request, reply, id });
}

/** `PATCH /examples/bulk`: updates all of the examples, or none. */
export async function updateExamples(
  dependencies: ExampleWriteDependencies,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  return sendJson(
    reply,
    await update(dependencies, { request, reply }, { format: { kind: "list" } }),
  );
}

/** `POST /v1/platform/datasets/{id}/examples`: creates examples with attachments from a multipart form. */
export async function uploadExamples(
  dependencies: ExampleWriteDependencies,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const { id: datasetId } = await findDataset(dependencies.store, request);
  const format = readFormFormat(request);
  const { responseJson } = await create(
    dependencies,
    { request, reply },
    { format, responseForm: "created", datasetId },
  );
  return sendJson(reply.code(201), responseJson);
}

/**
 * `POST /datasets/{id}/examples/check`: validates a list of examples against the dataset's schemas, and returns the
 * errors of the invalid ones by id. Stores nothing.
 */
export async function checkExamples(
  { store, workThreads }: ExampleWriteDependencies,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const { tenantId } = request;
  const { id: datasetId, inputsSchema, outputsSchema } = await findDataset(store, request);
  const chunks = await readBodyChunks(request.raw);
  if (isLarge(chunks, serverLimits.largeExamplesBytes)) {
    const schemas = { inputsSchema, outputsSchema };
    const task: ExampleCheckTask = { kind: "exampleCheck", chunks, datasetId, schemas };
    return sendJson(reply, Buffer.from(await workThreads.run(tenantId, task)));
  }
  const body = joinChunks(chunks);
  const drafts = readExamples({ body, format: { kind: "list" }, datasetId }).map(
    ({ draft }) => draft,
  );
  return reply.send({ rejected: await store.write.examples.check(tenantId, datasetId, drafts) });
}

/** `PATCH /v1/platform/datasets/{id}/examples`: updates examples and their attachments from a multipart form. */
export async function updateExamplesFromForm(
  dependencies: ExampleWriteDependencies,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const { id: datasetId } = await findDataset(dependencies.store, request);
  return sendJson(
    reply.code(201),
    await update(dependencies, { request, reply }, { format: readFormFormat(request), datasetId }),
  );
}

const readFormFormat = ({ headers }: FastifyRequest): ExamplesFormat => ({
  kind: "form",
  contentType: headers["content-type"],
});

interface Exchange {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
}

interface CreateOptions {
  readonly format: ExamplesFormat;
  readonly responseForm: "list" | "created";
  readonly datasetId?: string;
}

interface CreateResult {
  readonly responseJson: Buffer;
  /** Ids of the examples; absent if a worker thread parsed the body. Then only `responseJson` contains the ids. */
  readonly ids?: readonly string[];
}

/** Creates the examples in a request body. A large body is parsed, and its response serialized, on a worker thread. */
async function create(
  { store, workThreads }: ExampleWriteDependencies,
  { request, reply }: Exchange,
  { format, responseForm, datasetId }: CreateOptions,
): Promise<CreateResult> {
  const { tenantId } = request;
  const scope = datasetId === undefined ? {} : { datasetId };
  const chunks = await readBodyChunks(request.raw);
  let received: readonly ReceivedExample[];
  if (isLarge(chunks, serverLimits.largeExamplesBytes)) {
    disableIdleTimeout(request, reply);
    const task: ExamplesTask = { kind: "examples", operation: "create", chunks, format, ...scope };
    const parsedExamples = await workThreads.run(tenantId, task);
    const parts = parsedExamples.parts as readonly Packed<readonly ReceivedExample[]>[];
    if (!parsedExamples.needsSourceRun) {
      const written = await store.write.largeExamples.create(tenantId, parts);
      const responseTask: ExampleResponseTask = {
        kind: "exampleResponse",
        responseForm,
        parts,
        packedResult: written,
      };
      return { responseJson: Buffer.from((await workThreads.run(tenantId, responseTask)).buffer) };
    }
    assertCountWithRuns(parsedExamples.count);
    received = parts.flatMap(unpack);
  } else {
    received = readExamples({ body: joinChunks(chunks), format, ...scope });
  }
  const drafts = await copyInputsAndOutputs(store, tenantId, received);
  const written = await store.write.examples.create(tenantId, drafts);
  const ids = drafts.map(({ id }) => id);
  return {
    ids,
    responseJson:
      responseForm === "list"
        ? toListJson(drafts, written)
        : Buffer.from(JSON.stringify(toCreatedJson(ids, written))),
  };
}

/** Updates the examples that a request body names; returns the response as JSON. */
async function update(
  { store, workThreads }: ExampleWriteDependencies,
  { request, reply }: Exchange,
  { format, datasetId }: Pick<CreateOptions, "format" | "datasetId">,
): Promise<Buffer> {
  const { tenantId } = request;
  const chunks = await readBodyChunks(request.raw);
  if (isLarge(chunks, serverLimits.largeExamplesBytes)) {
    disableIdleTimeout(request, reply);
    const parsed = await workThreads.run<ExamplesTask>(tenantId, {
      kind: "examples",
      operation: "update",
      chunks,
      format,
    });
    const parts = parsed.parts as readonly Packed<readonly ExampleChange[]>[];
    const written = await store.write.largeExamples.update(tenantId, parts, datasetId);
    const task: ExampleResponseTask = {
      kind: "exampleResponse",
      responseForm: "written",
      parts,
      packedResult: written,
    };
    return Buffer.from((await workThreads.run(tenantId, task)).buffer);
  }
  const changes = readChanges({ body: joinChunks(chunks), format });
  const written = await store.write.examples.update(tenantId, changes, datasetId);
  const ids = changes.map(({ id }) => id);
  return Buffer.from(JSON.stringify(toWrittenJson(ids, written)));
}

/** @throws RequestError 413: more examples than one request may copy from runs. */
function assertCountWithRuns(count: number): void {
  if (count > serverLimits.examplesFromRuns) {
    throw new RequestError(
      413,
      `a request that copies examples from runs may contain at most ${serverLimits.examplesFromRuns} examples; split it into several requests`,
    );
  }
}

async function sendStoredExample(
  { store, links }: WithLinks<DatasetStore>,
  { request, reply, id }: { request: FastifyRequest; reply: FastifyReply; id: string },
): Promise<FastifyReply> {
  const example = await store.read.examples.find(request.tenantId, id, null);
  if (example === undefined) {
    throw new RequestError(404, "Example not found"); // Another request deleted it in the meantime.
  }
  return sendExample(reply, example, createAttachmentLinker(links, request));
}

/** Copies inputs and outputs from source runs into the examples that request it with `use_source_run_io`. */
async function copyInputsAndOutputs(
  store: DatasetStore,
  tenantId: string,
  received: readonly ReceivedExample[],
): Promise<readonly ExampleDraft[]> {
  if (!received.some(needsRun)) {
    return received.map(({ draft }) => draft);
  }
  return Promise.all(
    received.map(async (example) => {
      const { draft, useSourceRunIo } = example;
      if (!needsRun(example) || draft.sourceRunId === null) {
        return draft;
      }
      const run = await store.read.runs.find(tenantId, draft.sourceRunId);
      if (run === undefined) {
        throw new RequestError(404, `source run ${draft.sourceRunId} not found`);
      }
      return useSourceRunIo ? { ...draft, ...readInputsAndOutputs(run) } : draft;
    }),
  );
}
