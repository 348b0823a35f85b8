import type { Linked } from "../../shares/signed-links.ts";
import type { FastifyReply, FastifyRequest } from "fastify";
import { RequestError } from "../../model/errors.ts";
import { holdOpen } from "../../http/hold-open.ts";
import { joinPieces, readPieces, isLarge } from "../../bodies/read-body.ts";
import { JsonCursor } from "../../bodies/json-cursor.ts";
import { serverLimits } from "../../model/options.ts";
import type { ExampleChange, ExampleDraft } from "./example.ts";
import { unpack } from "./large-examples.ts";
import type { Packed, ReceivedExample } from "./large-examples.ts";
import type { DatasetStore } from "../dataset-store.ts";
import { toRunJson } from "../../runs/serializers/run-json.ts";
import {
  needsRun,
  readChanges,
  readExamples,
  toCreated,
  toListJson,
  toWritten,
} from "./take-examples.ts";
import type {
  ExampleAnswerTask,
  ExampleCheckTask,
  ExamplesShape,
  ExamplesTask,
} from "./example-tasks.ts";
import type { WorkThreads } from "../../storage/work-threads.ts";
import { findDataset } from "../dataset-handlers.ts";
import { exampleIdOf, linkFor, sendExample, sendJson } from "./example-handlers.ts";

/** What the handlers that write examples work with. */
export interface ExampleWriteDependencies extends Linked<DatasetStore> {
  readonly work: WorkThreads;
}

/** `POST /examples`. The body is read here: payloads are stored as they came. */
export async function createExample(
  dependencies: ExampleWriteDependencies,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const { answer, ids } = await create(
    dependencies,
    { request, reply },
    { shape: { kind: "one" }, form: "created" },
  );
  const [id = ""] = ids ?? (JSON.parse(answer.toString()) as { example_ids: string[] }).example_ids;
  return answerOne(dependencies, { request, reply, id });
}

/** `POST /examples/bulk`: a list in, a list out. */
export async function createExamples(
  dependencies: ExampleWriteDependencies,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const { answer } = await create(
    dependencies,
    { request, reply },
    { shape: { kind: "list" }, form: "list" },
  );
  return sendJson(reply, answer);
}

/** `PATCH /examples/{id}`. */
export async function updateExample(
  dependencies: ExampleWriteDependencies,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const id = exampleIdOf(request);
  await update(dependencies, { request, reply }, { shape: { kind: "one", id } });
  return answerOne(dependencies, { request, reply, id });
}

/** `PATCH /examples/bulk`: all of them, or none. */
export async function updateExamples(
  dependencies: ExampleWriteDependencies,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  return sendJson(
    reply,
    await update(dependencies, { request, reply }, { shape: { kind: "list" } }),
  );
}

/** `POST /v1/platform/datasets/{id}/examples`: multipart, with attachments. */
export async function uploadExamples(
  dependencies: ExampleWriteDependencies,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const { id: datasetId } = await findDataset(dependencies.store, request);
  const shape = formOf(request);
  const { answer } = await create(
    dependencies,
    { request, reply },
    { shape, form: "created", datasetId },
  );
  return sendJson(reply.code(201), answer);
}

/** `POST /datasets/{id}/examples/check`: what the dataset's schemas refuse of a list, by id; nothing is made. */
export async function checkExamples(
  { store, work }: ExampleWriteDependencies,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const { tenantId } = request;
  const { id: datasetId, inputsSchema, outputsSchema } = await findDataset(store, request);
  const pieces = await readPieces(request.raw);
  if (isLarge(pieces, serverLimits.largeExamplesBytes)) {
    const schemas = { inputsSchema, outputsSchema };
    const task: ExampleCheckTask = { kind: "exampleCheck", pieces, datasetId, schemas };
    return sendJson(reply, Buffer.from(await work.run(tenantId, task)));
  }
  const body = joinPieces(pieces);
  const drafts = readExamples({ body, shape: { kind: "list" }, datasetId }).map(
    ({ draft }) => draft,
  );
  return reply.send({ rejected: await store.write.examples.check(tenantId, datasetId, drafts) });
}

/** `PATCH /v1/platform/datasets/{id}/examples`: multipart, with attachments. */
export async function updateUploadedExamples(
  dependencies: ExampleWriteDependencies,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const { id: datasetId } = await findDataset(dependencies.store, request);
  return sendJson(
    reply.code(201),
    await update(dependencies, { request, reply }, { shape: formOf(request), datasetId }),
  );
}

const formOf = ({ headers }: FastifyRequest): ExamplesShape => ({
  kind: "form",
  contentType: headers["content-type"],
});

interface Exchange {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
}

interface Creation {
  readonly shape: ExamplesShape;
  readonly form: "list" | "created";
  readonly datasetId?: string;
}

interface Created {
  /** JSON. */
  readonly answer: Buffer;
  /** Where they are at hand. */
  readonly ids?: readonly string[];
}

/** Creates the examples of a body; one that is large is read, written and answered beside this thread. */
async function create(
  { store, work }: ExampleWriteDependencies,
  { request, reply }: Exchange,
  { shape, form, datasetId }: Creation,
): Promise<Created> {
  const { tenantId } = request;
  const scope = datasetId === undefined ? {} : { datasetId };
  const pieces = await readPieces(request.raw);
  let received: readonly ReceivedExample[];
  if (isLarge(pieces, serverLimits.largeExamplesBytes)) {
    holdOpen(request, reply);
    const task: ExamplesTask = { kind: "examples", operation: "create", pieces, shape, ...scope };
    const taken = await work.run(tenantId, task);
    const parts = taken.parts as readonly Packed<readonly ReceivedExample[]>[];
    if (!taken.needsRun) {
      const written = await store.write.largeExamples.create(tenantId, parts);
      const answering: ExampleAnswerTask = { kind: "exampleAnswer", form, parts, written };
      return { answer: Buffer.from((await work.run(tenantId, answering)).buffer) };
    }
    assertFew(taken.count);
    received = parts.flatMap(unpack);
  } else {
    received = readExamples({ body: joinPieces(pieces), shape, ...scope });
  }
  const drafts = await withRuns(store, tenantId, received);
  const written = await store.write.examples.create(tenantId, drafts);
  const ids = drafts.map(({ id }) => id);
  return {
    ids,
    answer:
      form === "list"
        ? toListJson(drafts, written)
        : Buffer.from(JSON.stringify(toCreated(ids, written))),
  };
}

/** The same for changes. The answer is JSON. */
async function update(
  { store, work }: ExampleWriteDependencies,
  { request, reply }: Exchange,
  { shape, datasetId }: Pick<Creation, "shape" | "datasetId">,
): Promise<Buffer> {
  const { tenantId } = request;
  const pieces = await readPieces(request.raw);
  if (isLarge(pieces, serverLimits.largeExamplesBytes)) {
    holdOpen(request, reply);
    const taken = await work.run<ExamplesTask>(tenantId, {
      kind: "examples",
      operation: "update",
      pieces,
      shape,
    });
    const parts = taken.parts as readonly Packed<readonly ExampleChange[]>[];
    const written = await store.write.largeExamples.update(tenantId, parts, datasetId);
    const task: ExampleAnswerTask = { kind: "exampleAnswer", form: "written", parts, written };
    return Buffer.from((await work.run(tenantId, task)).buffer);
  }
  const changes = readChanges({ body: joinPieces(pieces), shape });
  const written = await store.write.examples.update(tenantId, changes, datasetId);
  const ids = changes.map(({ id }) => id);
  return Buffer.from(JSON.stringify(toWritten(ids, written)));
}

/** @throws RequestError 413: so many runs are not read for one request. */
function assertFew(count: number): void {
  if (count > serverLimits.examplesFromRuns) {
    throw new RequestError(
      413,
      `more than ${serverLimits.examplesFromRuns} examples in a body of which some are taken from runs; send less in one request`,
    );
  }
}

async function answerOne(
  { store, links }: Linked<DatasetStore>,
  { request, reply, id }: { request: FastifyRequest; reply: FastifyReply; id: string },
): Promise<FastifyReply> {
  const example = await store.read.examples.find(request.tenantId, id, null);
  if (example === undefined) {
    throw new RequestError(404, "Example not found"); // Deleted since.
  }
  return sendExample(reply, example, linkFor(links, request));
}

/** Takes inputs and outputs from the runs that they are to come from. */
async function withRuns(
  store: DatasetStore,
  tenantId: string,
  received: readonly ReceivedExample[],
): Promise<readonly ExampleDraft[]> {
  if (!received.some(needsRun)) {
    return received.map(({ draft }) => draft);
  }
  return Promise.all(
    received.map(async (one) => {
      const { draft, useSourceRunIo } = one;
      if (!needsRun(one) || draft.sourceRunId === null) {
        return draft;
      }
      const run = await store.read.runs.find(tenantId, draft.sourceRunId);
      if (run === undefined) {
        throw new RequestError(404, `source run ${draft.sourceRunId} not found`);
      }
      return useSourceRunIo
        ? { ...draft, ...readIo(toRunJson(run, { select: ioMembers })) }
        : draft;
    }),
  );
}

const ioMembers: ReadonlySet<string> = new Set(["inputs", "outputs"]);

function readIo(json: Buffer): Pick<ExampleDraft, "inputs" | "outputs"> {
  const members = new JsonCursor(json).readMembers();
  const [inputs, outputs] = ["inputs", "outputs"].map((name) => {
    const text = members.get(name)?.toString("utf8") ?? "null";
    return text.startsWith("{") ? text : null;
  });
  return { inputs: inputs ?? "{}", outputs: outputs ?? null };
}
