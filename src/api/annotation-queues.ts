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
import { Fields, definedOf, parseList } from "../model/fields.ts";
import { assertUuid, checkId, checkIds } from "../model/ids.ts";
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
import { pagesByIds, pagesByOffset } from "./http/pages.ts";
import type { Pages } from "./http/pages.ts";
import type { CallInit } from "./http/request.ts";

/** What an update can change. */
const changeable = [
  "name",
  "description",
  "metadata",
  "defaultDatasetId",
  "rubricInstructions",
  "rubricItems",
];

/** Annotation queues: runs in line for review by people. */
export class AnnotationQueues {
  readonly #call: Call;

  /** @internal */
  constructor(call: Call) {
    this.#call = call;
  }

  /**
   * Makes a queue. It has its id before it is sent, so that it is made once, however often the call is
   * tried; names may be the same.
   *
   * @throws {@link ValidationError} the name is empty, or an id is not a UUID.
   * @throws {@link ConflictError} `id` is another queue's.
   */
  async create(queue: CreateAnnotationQueue): Promise<AnnotationQueue> {
    assertName(queue.name);
    const json = definedOf({
      id: checkId(queue.id, "annotation queue id") ?? randomUUID(),
      name: queue.name,
      ...toWireFields(queue),
    });
    const init = { json, signal: queue.signal, repeatable: true };
    return parseAnnotationQueue(await this.#call("createAnnotationQueue", init));
  }

  /**
   * @throws {@link ValidationError} `id` is not a UUID.
   * @throws {@link NotFoundError} `Annotation queue with ID ... not found`.
   */
  async read(id: string, { signal }: CallOptions = {}): Promise<AnnotationQueue> {
    return parseAnnotationQueue(await this.#ask("readAnnotationQueue", id, { signal }));
  }

  /**
   * Queues by page, as they are consumed.
   *
   * @throws {@link ValidationError} an id is not a UUID, or `limit` not a whole number from 1.
   */
  list(filter: ListAnnotationQueues = {}): Pages<AnnotationQueue> {
    const { limit, signal } = filter;
    checkIds(filter.ids, "annotation queue id");
    const query = {
      name: filter.name,
      name_contains: filter.nameContains,
      dataset_id: checkId(filter.defaultDatasetId, "dataset id"),
    };
    return pagesByIds(filter.ids, limit, (ids, wanted) =>
      pagesByOffset(wanted, async (page) => {
        const init = { query: { ids, ...query, ...page }, signal };
        const response = await this.#call("listAnnotationQueues", init);
        return parseList(response, "annotation queues", parseAnnotationQueue);
      }),
    );
  }

  /**
   * Changes what is given. Repeating it changes nothing more.
   *
   * @throws {@link ValidationError} `id` is not a UUID, the name is empty, or nothing to change.
   * @throws {@link NotFoundError} `Annotation queue with ID ... not found`.
   */
  async update(id: string, changes: UpdateAnnotationQueue): Promise<void> {
    const { name, signal } = changes;
    if (name !== undefined) {
      assertName(name);
    }
    const json = definedOf({ name, ...toWireFields(changes) });
    assertChange(json, changeable);
    await this.#ask("updateAnnotationQueue", id, { json, signal });
  }

  /**
   * Deletes a queue. The runs in it stay.
   *
   * @throws {@link ValidationError} `id` is not a UUID.
   * @throws {@link NotFoundError} `Annotation queue with ID ... not found`.
   */
  async delete(id: string, { signal }: CallOptions = {}): Promise<void> {
    await this.#ask("deleteAnnotationQueue", id, { signal });
  }

  /**
   * Puts runs at the end of a queue, in the order given: all of them, or none. A run that is in it
   * already keeps its place.
   *
   * @throws {@link ValidationError} an id is not a UUID, or a time is malformed.
   * @throws {@link NotFoundError} there is no such queue, or no such run; the message names which.
   */
  async addRuns(id: string, { runIds, runs, signal }: AddRuns): Promise<AnnotationQueueEntry[]> {
    assertUuid(id, "annotation queue id");
    if ((runIds === undefined) === (runs === undefined)) {
      throw new ValidationError("One of runIds or runs must be provided");
    }
    const json = checkIds(runIds, "run id") ?? runs?.map(toWireRunKey) ?? [];
    if (json.length === 0) {
      return [];
    }
    const name = runs === undefined ? "addAnnotationQueueRuns" : "addAnnotationQueueRunsByKey";
    const response = await this.#call(name, { path: { id }, json, signal });
    return parseList(response, "entries", parseAnnotationQueueEntry);
  }

  /**
   * The run at a place in the queue; 0 is the one that waits longest.
   *
   * @throws {@link ValidationError} `id` is not a UUID, or `index` not a whole number from 0.
   * @throws {@link NotFoundError} there is no such queue, or no run at that place.
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
   * The runs of a queue by page, in its order.
   *
   * @throws {@link ValidationError} `id` is not a UUID, or `limit` not a whole number from 1.
   */
  listRuns(id: string, { status, limit, signal }: ListQueuedRuns = {}): Pages<QueuedRun> {
    assertUuid(id, "annotation queue id");
    return pagesByOffset(limit, async (page) => {
      const query = { status, ...page };
      const response = await this.#ask("listAnnotationQueueRuns", id, { query, signal });
      return parseList(response, "runs", parseQueuedRun);
    });
  }

  /**
   * Changes the state of a run in a queue: when it was reviewed, and its place in the order.
   *
   * @throws {@link ValidationError} an id is not a UUID, a time is malformed, or nothing to change.
   * @throws {@link NotFoundError} there is no such queue, or the run is not in it.
   */
  async updateRun(id: string, changes: UpdateQueuedRun): Promise<void> {
    assertUuid(id, "annotation queue id");
    const { queueRunId, lastReviewedTime, addedAt, signal } = changes;
    assertUuid(queueRunId, "queue run id");
    const json = definedOf({
      last_reviewed_time:
        lastReviewedTime === null ? null : toIsoTime(lastReviewedTime, "lastReviewedTime"),
      added_at: toIsoTime(addedAt, "addedAt"),
    });
    assertChange(json, ["addedAt", "lastReviewedTime"]);
    await this.#call("updateAnnotationQueueRun", { path: { id, queueRunId }, json, signal });
  }

  /**
   * Takes a run out of a queue. The run itself stays.
   *
   * @throws {@link ValidationError} an id is not a UUID.
   * @throws {@link NotFoundError} there is no such queue, or the run is not in it.
   */
  async removeRun(id: string, { queueRunId, signal }: RemoveQueuedRun): Promise<void> {
    assertUuid(id, "annotation queue id");
    assertUuid(queueRunId, "queue run id");
    await this.#call("removeAnnotationQueueRun", { path: { id, queueRunId }, signal });
  }

  /**
   * How many runs are in it.
   *
   * @throws {@link ValidationError} `id` is not a UUID.
   * @throws {@link NotFoundError} `Annotation queue with ID ... not found`.
   */
  async size(id: string, { signal }: CallOptions = {}): Promise<number> {
    const response = await this.#ask("readAnnotationQueueSize", id, { signal });
    return new Fields(response, "size of an annotation queue").number("size");
  }

  /** Where nothing but the queue can be missing, the text is the specification's (section 8). */
  async #ask(name: EndpointName, id: string, init: CallInit): Promise<unknown> {
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
