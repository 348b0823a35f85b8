import type { FastifyReply, FastifyRequest } from "fastify";
import { RequestError } from "../errors.ts";
import { readBody } from "../http/read-body.ts";
import { JsonCursor } from "../ingest/json-cursor.ts";
import type { ExampleChange, ExampleDraft, ExamplesWritten } from "../store/example.ts";
import type { Store } from "../store/store.ts";
import { listedMembers, toExampleJson, toJsonList } from "../view/example-json.ts";
import { toRunJson } from "../view/run-json.ts";
import { toIso } from "../view/wire-text.ts";
import { findDataset } from "./datasets.ts";
import {
  parseChange,
  parseChangeItem,
  parseExample,
  readItems,
  readMembers,
} from "./example-body.ts";
import type { ReceivedExample } from "./example-body.ts";
import { readExampleParts } from "./example-parts.ts";
import { exampleIdOf, linkFor, sendExample, sendJson } from "./examples.ts";
import type { ExampleDesk } from "./examples.ts";

/** `POST /examples`. The body is read here: payloads are stored as they came. */
export async function createExample(
  desk: ExampleDesk,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const received = parseExample(readMembers(await readBody(request.raw)), { what: "the example" });
  const [draft] = await create(desk.store, request.tenantId, [received]);
  return answerOne(desk, { request, reply, id: draft?.id ?? received.draft.id });
}

/** `POST /examples/bulk`: a list in, a list out. */
export async function createExamples(
  { store }: ExampleDesk,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const received = readItems(await readBody(request.raw)).map((members, index) =>
    parseExample(members, { what: `example ${index}` }),
  );
  const drafts = await withRuns(store, request.tenantId, received);
  const written = await store.write.examples.create(request.tenantId, drafts);
  const view = { select: listedMembers, link: () => "" };
  return sendJson(
    reply,
    toJsonList(drafts.map((draft) => toExampleJson(toExample(draft, written), view))),
  );
}

/** `PATCH /examples/{id}`. */
export async function updateExample(
  desk: ExampleDesk,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const id = exampleIdOf(request);
  const members = readMembers(await readBody(request.raw));
  const change = parseChange(members, { what: `example ${id}`, id });
  await desk.store.write.examples.update(request.tenantId, [change]);
  return answerOne(desk, { request, reply, id });
}

/** `PATCH /examples/bulk`: all of them, or none. */
export async function updateExamples(
  { store }: ExampleDesk,
  request: FastifyRequest,
): Promise<unknown> {
  const changes = readItems(await readBody(request.raw)).map(parseChangeItem);
  const written = await store.write.examples.update(request.tenantId, changes);
  return toWritten(changes, written);
}

/** `POST /v1/platform/datasets/{id}/examples`: multipart, with attachments. */
export async function uploadExamples(
  { store }: ExampleDesk,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const { id: datasetId } = await findDataset(store, request);
  const received = (await readExampleParts(request.raw)).map(({ id, members, attachments }) => {
    const { draft, ...rest } = parseExample(members, { what: `example ${id}`, id, datasetId });
    return { ...rest, draft: { ...draft, attachments } };
  });
  const drafts = await withRuns(store, request.tenantId, received);
  const written = await store.write.examples.create(request.tenantId, drafts);
  const made = new Set(drafts.map(({ id }) => id).filter((id) => written.known[id] === undefined));
  // Ours: a client that sends the same once more learns how much of it was there.
  const existing = { existing_count: drafts.length - made.size };
  return reply.code(201).send({ ...toWritten(drafts, written), ...existing });
}

/** `POST /datasets/{id}/examples/check`: what the dataset's schemas refuse of a list, by id; nothing is made. */
export async function checkExamples(
  { store }: ExampleDesk,
  request: FastifyRequest,
): Promise<unknown> {
  const { id: datasetId } = await findDataset(store, request);
  const drafts = readItems(await readBody(request.raw)).map(
    (members, index) => parseExample(members, { what: `example ${index}`, datasetId }).draft,
  );
  return { rejected: await store.write.examples.check(request.tenantId, datasetId, drafts) };
}

/** `PATCH /v1/platform/datasets/{id}/examples`: multipart, with attachments. */
export async function updateUploadedExamples(
  { store }: ExampleDesk,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const { id: datasetId } = await findDataset(store, request);
  const changes = (await readExampleParts(request.raw)).map(
    ({ id, members, attachments }): ExampleChange => ({
      ...parseChange(members, { what: `example ${id}`, id }),
      attachments,
    }),
  );
  const written = await store.write.examples.update(request.tenantId, changes, datasetId);
  return reply.code(201).send(toWritten(changes, written));
}

async function create(
  store: Store,
  tenantId: string,
  received: readonly ReceivedExample[],
): Promise<readonly ExampleDraft[]> {
  const drafts = await withRuns(store, tenantId, received);
  await store.write.examples.create(tenantId, drafts);
  return drafts;
}

async function answerOne(
  { store, links }: ExampleDesk,
  { request, reply, id }: { request: FastifyRequest; reply: FastifyReply; id: string },
): Promise<FastifyReply> {
  const example = await store.read.examples.find(request.tenantId, id, null);
  if (example === undefined) {
    throw new RequestError(404, "Example not found"); // Deleted since.
  }
  return sendExample(reply, example, linkFor(links, request));
}

const needsRun = ({ draft, useSourceRunIo }: ReceivedExample): boolean =>
  useSourceRunIo || draft.runAttachments !== undefined;

/** Takes inputs and outputs from the runs that they are to come from. */
async function withRuns(
  store: Store,
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

function toExample(draft: ExampleDraft, { datasets, known }: ExamplesWritten) {
  const { name: datasetName = "", micros = 0 } = datasets[draft.datasetId] ?? {};
  const times = { createdMicros: draft.createdMicros ?? micros, modifiedMicros: micros };
  return { ...draft, datasetName, position: 0, attachments: [], ...times, ...known[draft.id] };
}

/** What was written, and the version that has it. */
function toWritten(
  examples: readonly { readonly id: string }[],
  { datasets }: ExamplesWritten,
): Readonly<Record<string, unknown>> {
  const micros = Math.max(0, ...Object.values(datasets).map((dataset) => dataset.micros));
  return {
    count: examples.length,
    example_ids: examples.map(({ id }) => id),
    as_of: toIso(micros),
  };
}
