import { ConflictError } from "../../model/errors.ts";
import { parseCount, parseExample } from "../../model/resources/example.ts";
import type { Attachment } from "../../model/resources/attachment-response.ts";
import type { Example } from "../../model/resources/example.ts";
import { parseList } from "../../model/fields.ts";
import type { UploadResult, UploadSource } from "../../model/resources/upload.ts";
import { assertUuid, checkIds } from "../../model/ids.ts";
import { readAttachmentBytes, attachmentKeys } from "../http/attachment-bytes.ts";
import { toChat } from "./chat-example.ts";
import { chunksOfDrafts, sendInChunks } from "../chunked-sending.ts";
import type { ChunkLimits, ChunkedSending } from "../chunked-sending.ts";
import { assertDatasetKey, datasetIdOf, toVersion, datasetKeyNames } from "./dataset-key.ts";
import type {
  CreateChatExample,
  CreateExample,
  CreateExamples,
  CreatedExamples,
  DeleteExamples,
  ExampleUpdate,
  FilterExamples,
  ListExamples,
  NewExample,
  ReadExample,
  UpdateExample,
  UpdateExamples,
} from "./example-options.ts";
import { isEmptyFilter, toExampleQuery } from "./example-query.ts";
import {
  changeOf,
  checkChange,
  checkNew,
  draftOf,
  hasAttachments,
  jsonBodyOf,
} from "./example-wire.ts";
import { ExampleWrites, assertMany, counted } from "./example-writes.ts";
import type { ApiTransport, CallOptions } from "../http/http.ts";
import { checkOffset, chunksOf, idsByRequest, pagesByIds, pagesByOffset } from "../http/pages.ts";
import type { OffsetRequest, Pages } from "../http/pages.ts";
import type { QueryValue } from "../http/request.ts";
import { ServerInfoReader } from "../http/server-info.ts";
import type { UploadExamples, UploadStream, Uploader } from "../uploads.ts";
import { callOptionKeys } from "../http/known-arguments.ts";
import type { CallTable } from "../http/known-arguments.ts";
import { uploadSettingKeys } from "../uploads.ts";
import { newDatasetKeys } from "./dataset-options.ts";

/** Examples of one request, beside the limit of its bytes. */
const examplesPerRequest = 1_000;

/** Examples of datasets. Calls that name a dataset throw as `datasets.read`. */
export class Examples {
  readonly #asking: ApiTransport;
  readonly #endpoint: string;
  readonly #info: ServerInfoReader;
  readonly #uploader: Uploader;
  readonly #writes: ExampleWrites;

  /** @internal */
  constructor(asking: ApiTransport, endpoint: string, uploader: Uploader) {
    this.#asking = asking;
    this.#uploader = uploader;
    this.#endpoint = endpoint;
    this.#info = new ServerInfoReader(asking.call);
    this.#writes = new ExampleWrites(asking.call, this.#info);
  }

  /**
   * Makes an example. It has its id before it is sent, so that it is made once, however often the call
   * is tried.
   *
   * @throws {@link ValidationError} inputs are missing, an id is not a UUID, a split is empty, or the
   * server takes no attachments.
   * @throws {@link ConflictError} `id` is another example's.
   * @throws {@link HttpError} it does not keep to the schemas of its dataset.
   */
  async create(example: CreateExample): Promise<Example> {
    assertDatasetKey(example);
    const draft = draftOf(example, "create example");
    const { signal } = example;
    const datasetId = await datasetIdOf(this.#asking.call, example, { signal });
    if (hasAttachments(draft)) {
      await this.#writes.create(datasetId, [draft], { signal });
      return this.read(draft.id, { signal });
    }
    const body = jsonBodyOf(draft, { id: draft.id, dataset_id: datasetId });
    const init = { body, signal, repeatable: true };
    try {
      return parseExample(await this.#asking.call("createExample", init));
    } catch (error) {
      if (error instanceof ConflictError && draft.isOwnId) {
        // An id that was made here: an earlier try of this call arrived.
        return this.read(draft.id, { signal });
      }
      throw error;
    }
  }

  /**
   * Makes any number of examples: read as they are sent, a thousand or the server's limit of bytes in a
   * request, four requests at a time. All of a request are made, or none.
   *
   * @throws {@link ValidationError} as {@link Examples.create}; of an array before anything is sent.
   * @throws {@link IncompleteError} some were made before the failure: it names them.
   */
  async createMany(request: CreateExamples): Promise<CreatedExamples> {
    const { examples, signal } = request;
    assertDatasetKey(request);
    assertMany(examples, checkNew);
    const datasetId = await datasetIdOf(this.#asking.call, request, { signal });
    const action = "create examples";
    const toDraft = counted((example: NewExample) => draftOf(example, action));
    const chunks = chunksOfDrafts(examples, toDraft, await this.#limits(signal));
    const send: ChunkedSending["send"] = (drafts) =>
      this.#writes.create(datasetId, drafts, { signal });
    return { exampleIds: await sendInChunks(chunks, { action, send, signal }) };
  }

  /**
   * Makes examples of a source of any size: read as they are sent, by worker threads, in chunks. Each row
   * has an id that follows from its key or its content, so that the same upload once more adds nothing, and
   * one that was killed goes on. What the server refuses is found row by row, reported, and left out.
   *
   * @throws {@link ValidationError} a setting can't be, or the checkpoint is another upload's.
   * @throws {@link NotFoundError} there is no such dataset, and `createDataset` is false.
   * @throws {@link UploadError} it ended before its source did: `result` has the counts so far, `cause` the reason.
   */
  async upload<Row = NewExample>(
    source: UploadSource<Row>,
    request: UploadExamples<Row>,
  ): Promise<UploadResult> {
    return this.#uploader.examples(source, request);
  }

  /** As {@link Examples.upload}, as the end of a `pipeline()`. */
  readonly uploadStream = <Row = NewExample>(request: UploadExamples<Row>): UploadStream =>
    this.#uploader.examplesStream(request);

  /**
   * Makes an example of a chat: messages, and the answer that should come; LangChain's messages are
   * taken too. Otherwise as {@link Examples.create}.
   */
  async createChat({ messages, answer, ...example }: CreateChatExample): Promise<Example> {
    return this.create({ ...example, ...toChat(messages, answer) });
  }

  /**
   * @throws {@link ValidationError} `id` is not a UUID.
   * @throws {@link NotFoundError} there is no such example, or there was none in that version.
   */
  async read(id: string, { asOf, signal }: ReadExample = {}): Promise<Example> {
    assertUuid(id, "example id");
    const query = { as_of: toVersion(asOf, "asOf") };
    return parseExample(await this.#asking.call("readExample", { path: { id }, query, signal }));
  }

  /**
   * The bytes of an attachment, from the address that {@link Examples.read} returned. The key is sent to
   * the client's own server only. The address expires; reading the example gives a new one.
   *
   * @throws {@link ValidationError} its address is malformed.
   * @throws {@link HttpError} the address has expired, or leads nowhere.
   */
  async readAttachment(attachment: Attachment, { signal }: CallOptions = {}): Promise<Uint8Array> {
    return readAttachmentBytes(this.#asking, attachment, { endpoint: this.#endpoint, signal });
  }

  /**
   * Examples by page, as they are consumed.
   *
   * @throws {@link ValidationError} an id is not a UUID, `limit` not a whole number from 1, or `offset`
   * given with more than 100 ids.
   */
  list(filter: ListExamples): Pages<Example> {
    const { ids, limit, signal, inlineS3Urls = true } = filter;
    assertDatasetKey(filter);
    const first = checkOffset(filter.offset, ids);
    const query = { ...toExampleQuery(filter), inline_s3_urls: inlineS3Urls };
    if (isEmptyFilter(filter)) {
      return pagesByOffset(limit, async () => []);
    }
    const { call } = this.#asking;
    let dataset: string | undefined;
    return pagesByIds(ids, limit, (id, remainingLimit) =>
      pagesByOffset(remainingLimit, async (page, last?: Example) => {
        dataset ??= await datasetIdOf(call, filter, { signal });
        const range = await this.#rangeOf(filter, { ...page, offset: first + page.offset }, last);
        const init = { query: { ...query, dataset, id, ...range }, signal };
        return parseList(await call("listExamples", init), "examples", parseExample);
      }),
    );
  }

  /** Which part of a list is asked for: behind the last example that came, where the server knows how. */
  async #rangeOf(
    { order, signal }: ListExamples,
    { limit, offset }: OffsetRequest,
    last: Example | undefined,
  ): Promise<Readonly<Record<string, QueryValue>>> {
    if (order !== "written" || !(await this.#info.readOrDefaults({ signal })).listsExamplesAfter) {
      return { limit, offset };
    }
    return { limit, order, ...(last === undefined ? { offset } : { after: last.id }) };
  }

  /** How many examples a filter holds of; as {@link Examples.list}. */
  async count(filter: FilterExamples): Promise<number> {
    const { ids, signal } = filter;
    assertDatasetKey(filter);
    const query = toExampleQuery(filter);
    if (isEmptyFilter(filter)) {
      return 0;
    }
    const { call } = this.#asking;
    const dataset = await datasetIdOf(call, filter, { signal });
    let count = 0;
    for (const id of idsByRequest(ids)) {
      const init = { query: { ...query, dataset, id }, signal };
      count += parseCount(await call("countExamples", init));
    }
    return count;
  }

  /**
   * Changes what is given. Repeating it changes nothing more.
   *
   * @throws {@link ValidationError} nothing to change, or `id` is not a UUID; as {@link Examples.create}.
   * @throws {@link NotFoundError} there is no such example.
   */
  async update(id: string, { signal, ...changes }: UpdateExample): Promise<void> {
    assertUuid(id, "example id");
    const draft = changeOf({ id, ...changes }, "update example");
    if (hasAttachments(draft)) {
      await this.#writes.update([draft], { signal });
      return;
    }
    await this.#asking.call("updateExample", { path: { id }, body: jsonBodyOf(draft), signal });
  }

  /**
   * Changes any number of examples, in requests as {@link Examples.createMany}. Repeating it changes
   * nothing more. New attachments need examples that are all of one dataset.
   *
   * @throws {@link ValidationError} as {@link Examples.update}; of an array before anything is sent.
   * @throws {@link IncompleteError} some were changed before the failure: it names them.
   */
  async updateMany({ examples, datasetId, signal }: UpdateExamples): Promise<void> {
    const action = "update examples";
    if (datasetId !== undefined) {
      assertUuid(datasetId, "dataset id");
    }
    assertMany(examples, checkChange);
    const toDraft = counted((change: ExampleUpdate) => changeOf(change, action));
    const chunks = chunksOfDrafts(examples, toDraft, await this.#limits(signal));
    const send: ChunkedSending["send"] = (drafts) =>
      this.#writes.update(drafts, { datasetId, signal });
    await sendInChunks(chunks, { action, send, signal });
  }

  /**
   * Deletes an example; earlier versions of its dataset keep it.
   *
   * @throws {@link ValidationError} `id` is not a UUID.
   * @throws {@link NotFoundError} there is no such example.
   */
  async delete(id: string, { signal }: CallOptions = {}): Promise<void> {
    assertUuid(id, "example id");
    await this.#asking.call("deleteExample", { path: { id }, signal });
  }

  /**
   * Deletes examples, 100 in a request, in order.
   *
   * @throws {@link ValidationError} an id is not a UUID.
   */
  async deleteMany(
    ids: readonly string[],
    { hardDelete = false, signal }: DeleteExamples = {},
  ): Promise<void> {
    checkIds(ids, "example id");
    for (const some of chunksOf(ids)) {
      await (hardDelete
        ? this.#asking.call("removeExamples", {
            json: { example_ids: some, hard_delete: true },
            signal,
          })
        : this.#asking.call("deleteExamples", { query: { example_ids: some }, signal }));
    }
  }

  async #limits(signal: AbortSignal | undefined): Promise<ChunkLimits> {
    const { batchBytes } = await this.#info.readOrDefaults({ signal });
    return { count: examplesPerRequest, bytes: batchBytes };
  }
}

const exampleFilterKeys = {
  ...callOptionKeys,
  ...datasetKeyNames,
  ids: true,
  asOf: true,
  splits: true,
  metadata: true,
  filter: true,
} as const;
const newExampleKeys = {
  id: true,
  metadata: true,
  split: true,
  sourceRunId: true,
  createdAt: true,
  attachments: true,
} as const;
const exampleChangeKeys = {
  inputs: true,
  outputs: true,
  metadata: true,
  split: true,
  attachments: true,
  retainAttachments: true,
  renameAttachments: true,
} as const;
const uploadExampleKeys = {
  ...uploadSettingKeys,
  ...datasetKeyNames,
  createDataset: newDatasetKeys,
  toExample: true,
  idFrom: { key: true },
} as const;

/** The option names that each method accepts. */
export const exampleCalls: CallTable<Examples> = {
  create: {
    args: [
      {
        ...callOptionKeys,
        ...datasetKeyNames,
        ...newExampleKeys,
        inputs: true,
        outputs: true,
        useSourceRunIo: true,
      },
    ],
  },
  createChat: {
    args: [
      { ...callOptionKeys, ...datasetKeyNames, ...newExampleKeys, messages: true, answer: true },
    ],
  },
  createMany: { args: [{ ...callOptionKeys, ...datasetKeyNames, examples: true }] },
  update: { args: [null, { ...callOptionKeys, ...exampleChangeKeys }] },
  updateMany: { args: [{ ...callOptionKeys, datasetId: true, examples: true }] },
  read: { args: [null, { ...callOptionKeys, asOf: true }] },
  readAttachment: { args: [attachmentKeys, callOptionKeys] },
  list: {
    args: [
      {
        ...exampleFilterKeys,
        inlineS3Urls: true,
        includeAttachments: true,
        offset: true,
        order: true,
        limit: true,
      },
    ],
    throws: true,
  },
  count: { args: [exampleFilterKeys] },
  delete: { args: [null, callOptionKeys] },
  deleteMany: { args: [null, { ...callOptionKeys, hardDelete: true }] },
  upload: { args: [null, uploadExampleKeys] },
  uploadStream: { args: [uploadExampleKeys], throws: true },
};
