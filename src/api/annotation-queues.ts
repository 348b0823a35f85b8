import { randomUUID } from "node:crypto";
import {
  parseAnnotationQueue,
  parseAnnotationQueueEntry,
  parseQueuedRun,
} from "../model/resources/annotation-queue.ts";
import type {
  AnnotationQueue,
  AnnotationQueueEntry,
  QueuedRun,
} from "../model/resources/annotation-queue.ts";
import type { EndpointName } from "../model/endpoints.ts";
import { NotFoundError, ValidationError } from "../model/errors.ts";
import { Fields, omitUndefined, parseList } from "../model/fields.ts";
import { assertUuid, validateId, validateIds } from "../model/ids.ts";
import { assertChange } from "./http/assert-change.ts";
import { assertName, toWireFields, toWireRunKey } from "./annotation-queue-input.ts";
import type {
  AddRuns,
  CreateAnnotationQueue,
  ListAnnotationQueues,
  ListQueuedRuns,
  ReadQueuedRun,
  RemoveQueuedRun,
  UpdateAnnotationQueue,
  UpdateQueuedRun,
} from "./annotation-queue-input.ts";
import type { Call, CallOptions } from "./http/http.ts";
import { toIsoTime } from "./http/iso-time.ts";
import { listByIds, identifyById, listByOffset } from "./http/pages.ts";
import type { Pages } from "./http/pages.ts";
import type { CallInit } from "./http/request.ts";
import { callOptionKeys } from "./http/known-arguments.ts";
import type { CallTable } from "./http/known-arguments.ts";

/** Names of the options of `update`, listed by the error for an update without any of them. */
const changeableOptions = [
  "name",
  "description",
  "metadata",
  "defaultDatasetId",
  "rubricInstructions",
  "rubricItems",
];

/** Annotation queues: runs waiting for review by people. */
export class AnnotationQueues {
  readonly #call: Call;

  /** @internal */
  constructor(call: Call) {
    this.#call = call;
  }

  /**
   * Creates a queue. The client chooses the id before it sends the request, so a retry can't create a second
   * queue. Several queues may have the same name.
   *
   * @throws {@link ValidationError} if the name is empty, or an id is not a UUID.
   * @throws {@link ConflictError} if another queue has this `id`.
   */
  async create(queue: CreateAnnotationQueue): Promise<AnnotationQueue> {
    assertName(queue.name);
    const json = omitUndefined({
      id: validateId(queue.id, "annotation queue id") ?? randomUUID(),
      name: queue.name,
      ...toWireFields(queue),
    });
    const init = { json, signal: queue.signal, repeatable: true };
    return parseAnnotationQueue(await this.#call("createAnnotationQueue", init));
  }

  /**
   * Reads a queue.
   *
   * @throws {@link ValidationError} if `id` is not a UUID.
   * @throws {@link NotFoundError} if there is no such queue: `Annotation queue with ID ... not found`.
   */
  async read(id: string, { signal }: CallOptions = {}): Promise<AnnotationQueue> {
    return parseAnnotationQueue(await this.#callForQueue("readAnnotationQueue", id, { signal }));
  }

  /**
   * Lists queues. Pages are fetched as they are consumed.
   *
   * @throws {@link ValidationError} if an id is not a UUID, or `limit` is not a whole number of at least 1.
   */
  list(filter: ListAnnotationQueues = {}): Pages<AnnotationQueue> {
    const { limit, signal } = filter;
    validateIds(filter.ids, "annotation queue id");
    const query = {
      name: filter.name,
      name_contains: filter.nameContains,
      dataset_id: validateId(filter.defaultDatasetId, "dataset id"),
    };
    return listByIds(filter.ids, limit, (chunkOfIds, remainingLimit) =>
      listByOffset(
        remainingLimit,
        async (page) => {
          const init = { query: { ids: chunkOfIds, ...query, ...page }, signal };
          const response = await this.#call("listAnnotationQueues", init);
          return parseList(response, "annotation queues", parseAnnotationQueue);
        },
        identifyById,
      ),
    );
  }

  /**
   * Changes the fields that are given. Repeating the call has no further effect.
   *
   * @throws {@link ValidationError} if `id` is not a UUID, the name is empty, or no field is given.
   * @throws {@link NotFoundError} if there is no such queue: `Annotation queue with ID ... not found`.
   */
  async update(id: string, changes: UpdateAnnotationQueue): Promise<void> {
    const { name, signal } = changes;
    if (name !== undefined) {
      assertName(name);
    }
    const json = omitUndefined({ name, ...toWireFields(changes) });
    assertChange(json, changeableOptions);
    await this.#callForQueue("updateAnnotationQueue", id, { json, signal });
  }

  /**
   * Deletes a queue. Its runs are not deleted.
   *
   * @throws {@link ValidationError} if `id` is not a UUID.
   * @throws {@link NotFoundError} if there is no such queue: `Annotation queue with ID ... not found`.
   */
  async delete(id: string, { signal }: CallOptions = {}): Promise<void> {
    await this.#callForQueue("deleteAnnotationQueue", id, { signal });
  }

  /**
   * Appends runs to a queue, in the given order: either all of them or none. A run that is already in the queue
   * keeps its position.
   *
   * @throws {@link ValidationError} if an id is not a UUID, or a time is malformed.
   * @throws {@link NotFoundError} if the queue or a run does not exist; the message says which.
   */
  async addRuns(id: string, { runIds, runs, signal }: AddRuns): Promise<AnnotationQueueEntry[]> {
    assertUuid(id, "annotation queue id");
    if ((runIds === undefined) === (runs === undefined)) {
      throw new ValidationError("Exactly one of runIds and runs must be provided");
    }
    const json = validateIds(runIds, "run id") ?? runs?.map(toWireRunKey) ?? [];
    if (json.length === 0) {
      return [];
    }
    const name = runs === undefined ? "addAnnotationQueueRuns" : "addAnnotationQueueRunsByKey";
    const response = await this.#call(name, { path: { id }, json, signal });
    return parseList(response, "entries", parseAnnotationQueueEntry);
  }

  /**
   * Reads the run at a position of the queue; position 0 is the run that has waited longest.
   *
   * @throws {@link ValidationError} if `id` is not a UUID, or `index` is not a whole number of at least 0.
   * @throws {@link NotFoundError} if there is no such queue, or no run at that position.
   */
  async readRun(id: string, { index = 0, signal }: ReadQueuedRun = {}): Promise<QueuedRun> {
    assertUuid(id, "annotation queue id");
    if (!Number.isSafeInteger(index) || index < 0) {
      throw new ValidationError(`index must be a whole number of at least 0, not ${index}`);
    }
    const path = { id, index: String(index) };
    return parseQueuedRun(await this.#call("readAnnotationQueueRun", { path, signal }));
  }

  /**
   * Lists the runs of a queue, in queue order. Pages are fetched as they are consumed.
   *
   * @throws {@link ValidationError} if `id` is not a UUID, or `limit` is not a whole number of at least 1.
   */
  listRuns(id: string, { status, limit, signal }: ListQueuedRuns = {}): Pages<QueuedRun> {
    assertUuid(id, "annotation queue id");
    return listByOffset(
      limit,
      async (page) => {
        const query = { status, ...page };
        const response = await this.#callForQueue("listAnnotationQueueRuns", id, { query, signal });
        return parseList(response, "runs", parseQueuedRun);
      },
      ({ queueRunId }) => queueRunId,
    );
  }

  /**
   * Changes the time at which a queued run was reviewed, or the position of the run in the queue.
   *
   * @throws {@link ValidationError} if an id is not a UUID, a time is malformed, or no field is given.
   * @throws {@link NotFoundError} if there is no such queue, or the run is not in it.
   */
  async updateRun(id: string, changes: UpdateQueuedRun): Promise<void> {
    assertUuid(id, "annotation queue id");
    const { queueRunId, lastReviewedTime, addedAt, signal } = changes;
    assertUuid(queueRunId, "queue run id");
    const json = omitUndefined({
      last_reviewed_time:
        lastReviewedTime === null ? null : toIsoTime(lastReviewedTime, "lastReviewedTime"),
      added_at: toIsoTime(addedAt, "addedAt"),
    });
    assertChange(json, ["addedAt", "lastReviewedTime"]);
    await this.#call("updateAnnotationQueueRun", { path: { id, queueRunId }, json, signal });
  }

  /**
   * Removes a run from a queue. The run itself is not deleted.
   *
   * @throws {@link ValidationError} if an id is not a UUID.
   * @throws {@link NotFoundError} if there is no such queue, or the run is not in it.
   */
  async removeRun(id: string, { queueRunId, signal }: RemoveQueuedRun): Promise<void> {
    assertUuid(id, "annotation queue id");
    assertUuid(queueRunId, "queue run id");
    await this.#call("removeAnnotationQueueRun", { path: { id, queueRunId }, signal });
  }

  /**
   * Returns the number of runs in a queue.
   *
   * @throws {@link ValidationError} if `id` is not a UUID.
   * @throws {@link NotFoundError} if there is no such queue: `Annotation queue with ID ... not found`.
   */
  async size(id: string, { signal }: CallOptions = {}): Promise<number> {
    const response = await this.#callForQueue("readAnnotationQueueSize", id, { signal });
    return new Fields(response, "size of an annotation queue").readNumber("size");
  }

  /**
   * Sends a request for which status 404 can only mean that the queue does not exist. For this status, replaces the
   * server's message with one that begins like the message of LangSmith's client, because programs may check for it.
   */
  async #callForQueue(name: EndpointName, id: string, init: CallInit): Promise<unknown> {
    assertUuid(id, "annotation queue id");
    try {
      return await this.#call(name, { ...init, path: { id } });
    } catch (cause) {
      if (!(cause instanceof NotFoundError)) {
        throw cause;
      }
      const { requestId } = cause;
      const message = `Annotation queue with ID ${id} not found. Check the id (client.annotationQueues.list()), the endpoint and the tenant of the key`;
      const action = "read annotation queue";
      throw new NotFoundError({ action, status: 404, body: "", message, cause, requestId });
    }
  }
}

const queueFieldKeys = {
  ...callOptionKeys,
  name: true,
  description: true,
  metadata: true,
  defaultDatasetId: true,
  rubricInstructions: true,
  rubricItems: [
    {
      feedbackKey: true,
      description: true,
      isRequired: true,
      scoreDescriptions: true,
      valueDescriptions: true,
    },
  ],
} as const;

/** The option names that each method accepts. */
export const annotationQueueCalls: CallTable<AnnotationQueues> = {
  create: { args: [{ ...queueFieldKeys, id: true }] },
  read: { args: [null, callOptionKeys] },
  list: {
    args: [
      {
        ...callOptionKeys,
        ids: true,
        name: true,
        nameContains: true,
        defaultDatasetId: true,
        limit: true,
      },
    ],
    throws: true,
  },
  update: { args: [null, queueFieldKeys] },
  delete: { args: [null, callOptionKeys] },
  addRuns: {
    args: [
      null,
      {
        ...callOptionKeys,
        runIds: true,
        runs: [{ runId: true, projectId: true, startTime: true }],
      },
    ],
  },
  readRun: { args: [null, { ...callOptionKeys, index: true }] },
  listRuns: { args: [null, { ...callOptionKeys, status: true, limit: true }], throws: true },
  updateRun: {
    args: [null, { ...callOptionKeys, queueRunId: true, addedAt: true, lastReviewedTime: true }],
  },
  removeRun: { args: [null, { ...callOptionKeys, queueRunId: true }] },
  size: { args: [null, callOptionKeys] },
};
