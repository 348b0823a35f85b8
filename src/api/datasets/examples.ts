import { ConflictError } from "../../model/errors.ts";
import { parseCount, parseExample } from "../../model/resources/example.ts";
import type { Attachment } from "../../model/resources/attachment-response.ts";
import type { Example } from "../../model/resources/example.ts";
import { parseList } from "../../model/fields.ts";
import type { UploadResult, UploadSource } from "../../model/resources/upload.ts";
import { assertUuid, validateIds } from "../../model/ids.ts";
import { readAttachmentBytes, attachmentKeys } from "../http/attachment-bytes.ts";
import { toChat } from "./chat-example.ts";
import { groupIntoChunks, sendInChunks } from "../chunked-sending.ts";
import type { ChunkLimits, ChunkedSending } from "../chunked-sending.ts";
import { assertDatasetKey, resolveDatasetId, toVersion, datasetKeyNames } from "./dataset-key.ts";
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
  createChangeDraft,
  validateUpdate,
  validateNewExample,
  createDraft,
  hasAttachments,
  createJsonBody,
} from "./example-wire.ts";
import { ExampleSender, validateExamples, withItemNumber } from "./example-writes.ts";
import type { ApiTransport, CallOptions } from "../http/http.ts";
import {
  validateOffset,
  splitIntoChunks,
  groupIdsByRequest,
  listByIds,
  emptyList,
  identifyById,
  listByOffset,
} from "../http/pages.ts";
import type { OffsetRequest, Pages } from "../http/pages.ts";
import type { QueryValue } from "../http/request.ts";
import { ServerInfoReader } from "../http/server-info.ts";
import type { UploadExamples, UploadStream, Uploader } from "../uploads.ts";
import { texts } from "../http/argument-checks.ts";
import { callOptionKeys } from "../http/known-arguments.ts";
import type { CallTable } from "../http/known-arguments.ts";
import { uploadSettingKeys } from "../uploads.ts";
import { newDatasetKeys } from "./dataset-options.ts";

/** Maximum number of examples in one request. The size of a request in bytes is limited as well. */
const examplesPerRequest = 1_000;

/** Examples of datasets. Calls that take the id or name of a dataset throw the same errors as {@link Datasets.read}. */
export class Examples {
  readonly #transport: ApiTransport;
  readonly #endpoint: string;
  readonly #info: ServerInfoReader;
  readonly #uploader: Uploader;
  readonly #sender: ExampleSender;

  /** @internal */
  constructor(transport: ApiTransport, endpoint: string, uploader: Uploader) {
    this.#transport = transport;
    this.#uploader = uploader;
    this.#endpoint = endpoint;
    this.#info = new ServerInfoReader(transport.call);
    this.#sender = new ExampleSender(transport.call, this.#info);
  }

  /**
   * Creates an example. The client chooses the id before it sends the request, so a retry can't create a second
   * example.
   *
   * @throws {@link ValidationError} if inputs are missing, an id is not a UUID, a split is empty, or the server does
   * not accept attachments.
   * @throws {@link ConflictError} if another example has this `id`.
   * @throws {@link HttpError} if the example does not match the schemas of its dataset.
   */
  async create(example: CreateExample): Promise<Example> {
    assertDatasetKey(example);
    const draft = createDraft(example, "create example");
    const { signal } = example;
    const datasetId = await resolveDatasetId(this.#transport.call, example, { signal });
    if (hasAttachments(draft)) {
      await this.#sender.create(datasetId, [draft], { signal });
      return this.read(draft.id, { signal });
    }
    const body = createJsonBody(draft, { id: draft.id, dataset_id: datasetId });
    const init = { body, signal, repeatable: true };
    try {
      return parseExample(await this.#transport.call("createExample", init));
    } catch (error) {
      if (error instanceof ConflictError && draft.isGeneratedId) {
        // The client generated the id, so an earlier attempt of this call created the example.
        return this.read(draft.id, { signal });
      }
      throw error;
    }
  }

  /**
   * Creates any number of examples. They are read while they are sent: up to a thousand per request, within the
   * server's size limit, and four requests at a time. Each request creates all of its examples or none.
   *
   * @throws {@link ValidationError} as for {@link Examples.create}. An array is validated before anything is sent.
   * @throws {@link IncompleteError} if some examples were created before the failure; the error lists their ids.
   */
  async createMany(request: CreateExamples): Promise<CreatedExamples> {
    const { examples, signal } = request;
    assertDatasetKey(request);
    validateExamples(examples, validateNewExample);
    const datasetId = await resolveDatasetId(this.#transport.call, request, { signal });
    const action = "create examples";
    const toDraft = withItemNumber((example: NewExample) => createDraft(example, action));
    const chunks = groupIntoChunks(examples, toDraft, await this.#readChunkLimits(signal));
    const send: ChunkedSending["send"] = (drafts) =>
      this.#sender.create(datasetId, drafts, { signal });
    return { exampleIds: await sendInChunks(chunks, { action, send, signal }) };
  }

  /**
   * Creates examples from a source of any size. Rows are read while worker threads send them in chunks. The id of each
   * row is derived from a field of the row or from its whole content, so repeating an upload creates no duplicates, and
   * an interrupted upload can be resumed. Rows that the server rejects are identified individually, reported and
   * skipped.
   *
   * @throws {@link ValidationError} if a setting is invalid, or the checkpoint belongs to another upload.
   * @throws {@link NotFoundError} if the dataset does not exist, and `createDataset` is false.
   * @throws {@link UploadError} if the upload ended before the end of the source. The error's `result` has the numbers
   * of rows that were created, skipped and rejected until then; the error's `cause` is the reason.
   */
  async upload<Row = NewExample>(
    source: UploadSource<Row>,
    request: UploadExamples<Row>,
  ): Promise<UploadResult> {
    return this.#uploader.uploadExamples(source, request);
  }

  /** Like {@link Examples.upload}, as a writable stream for `pipeline()`. */
  readonly uploadStream = <Row = NewExample>(request: UploadExamples<Row>): UploadStream =>
    this.#uploader.streamExamples(request);

  /**
   * Creates an example from chat messages and the expected answer. LangChain messages are accepted too. Otherwise
   * like {@link Examples.create}.
   */
  async createChat({ messages, answer, ...example }: CreateChatExample): Promise<Example> {
    return this.create({ ...example, ...toChat(messages, answer) });
  }

  /**
   * Reads an example.
   *
   * @throws {@link ValidationError} if `id` is not a UUID.
   * @throws {@link NotFoundError} if there is no such example, or it is not in that version.
   */
  async read(id: string, { asOf, signal }: ReadExample = {}): Promise<Example> {
    assertUuid(id, "example id");
    const query = { as_of: toVersion(asOf, "asOf") };
    return parseExample(await this.#transport.call("readExample", { path: { id }, query, signal }));
  }

  /**
   * Downloads an attachment from the URL that {@link Examples.read} returned. The API key is sent only to the
   * client's own server. The URL expires; read the example again for a new one.
   *
   * @throws {@link ValidationError} if the URL is malformed.
   * @throws {@link HttpError} if the URL has expired, or there is no file.
   */
  async readAttachment(attachment: Attachment, { signal }: CallOptions = {}): Promise<Uint8Array> {
    return readAttachmentBytes(this.#transport, attachment, { endpoint: this.#endpoint, signal });
  }

  /**
   * Lists examples. Pages are fetched as they are consumed.
   *
   * @throws {@link ValidationError} if an id is not a UUID, `limit` is not a whole number of at least 1, or `offset`
   * is combined with more than 100 ids.
   */
  list(filter: ListExamples): Pages<Example> {
    const { ids, limit, signal, inlineS3Urls = true } = filter;
    assertDatasetKey(filter);
    const startOffset = validateOffset(filter.offset, ids);
    const query = { ...toExampleQuery(filter), inline_s3_urls: inlineS3Urls };
    if (isEmptyFilter(filter)) {
      return emptyList(limit);
    }
    const { call } = this.#transport;
    let datasetId: string | undefined;
    return listByIds(ids, limit, (idChunk, remainingLimit) =>
      listByOffset(
        remainingLimit,
        async (page, lastExample?: Example) => {
          datasetId ??= await resolveDatasetId(call, filter, { signal });
          const range = await this.#createPageQuery(
            filter,
            { ...page, offset: startOffset + page.offset },
            lastExample,
          );
          const init = { query: { ...query, dataset: datasetId, id: idChunk, ...range }, signal };
          const listed = parseList(await call("listExamples", init), "examples", parseExample);
          return "after" in range && lastExample !== undefined ? [lastExample, ...listed] : listed;
        },
        identifyById,
      ),
    );
  }

  /**
   * Returns the query parameters of a page. In the order `written`, the page begins after the last example of the
   * previous page if the server supports that, otherwise at an offset.
   */
  async #createPageQuery(
    { order, signal }: ListExamples,
    { limit, offset }: OffsetRequest,
    lastExample: Example | undefined,
  ): Promise<Readonly<Record<string, QueryValue>>> {
    if (order !== "written" || !(await this.#info.readOrDefaults({ signal })).listsExamplesAfter) {
      return { limit, offset };
    }
    return {
      limit,
      order,
      ...(lastExample === undefined ? { offset } : { after: lastExample.id }),
    };
  }

  /** Returns the number of examples that match a filter. See {@link Examples.list}. */
  async count(filter: FilterExamples): Promise<number> {
    const { ids, signal } = filter;
    assertDatasetKey(filter);
    const query = toExampleQuery(filter);
    if (isEmptyFilter(filter)) {
      return 0;
    }
    const { call } = this.#transport;
    const datasetId = await resolveDatasetId(call, filter, { signal });
    let count = 0;
    for (const id of groupIdsByRequest(ids)) {
      const init = { query: { ...query, dataset: datasetId, id }, signal };
      count += parseCount(await call("countExamples", init));
    }
    return count;
  }

  /**
   * Changes the fields that are given. Repeating the call has no further effect.
   *
   * @throws {@link ValidationError} if no field is given, or `id` is not a UUID; otherwise as for
   * {@link Examples.create}.
   * @throws {@link NotFoundError} if there is no such example.
   */
  async update(id: string, { signal, ...changes }: UpdateExample): Promise<void> {
    assertUuid(id, "example id");
    const draft = createChangeDraft({ id, ...changes }, "update example");
    if (hasAttachments(draft)) {
      await this.#sender.update([draft], { signal });
    } else {
      await this.#sender.updateOne(draft, { signal });
    }
  }

  /**
   * Changes any number of examples, divided into requests as by {@link Examples.createMany}. Repeating the call has
   * no further effect. Adding attachments requires that all examples belong to one dataset.
   *
   * @throws {@link ValidationError} as for {@link Examples.update}. An array is validated before anything is sent.
   * @throws {@link IncompleteError} if some examples were changed before the failure; the error lists their ids.
   */
  async updateMany({ examples, datasetId, signal }: UpdateExamples): Promise<void> {
    const action = "update examples";
    if (datasetId !== undefined) {
      assertUuid(datasetId, "dataset id");
    }
    validateExamples(examples, validateUpdate);
    const toDraft = withItemNumber((change: ExampleUpdate) => createChangeDraft(change, action));
    const chunks = groupIntoChunks(examples, toDraft, await this.#readChunkLimits(signal));
    const send: ChunkedSending["send"] = (drafts) =>
      this.#sender.update(drafts, { datasetId, signal });
    await sendInChunks(chunks, { action, send, signal });
  }

  /**
   * Deletes an example. It remains in earlier versions of its dataset.
   *
   * @throws {@link ValidationError} if `id` is not a UUID.
   * @throws {@link NotFoundError} if there is no such example.
   */
  async delete(id: string, { signal }: CallOptions = {}): Promise<void> {
    assertUuid(id, "example id");
    await this.#transport.call("deleteExample", { path: { id }, signal });
  }

  /**
   * Deletes examples in order, 100 per request. An id without an example is ignored if its request contains the id of
   * another example that exists.
   *
   * @throws {@link ValidationError} if an id is not a UUID.
   * @throws {@link NotFoundError} if none of the examples of a request exists. The examples of earlier requests were
   * deleted.
   */
  async deleteMany(
    ids: readonly string[],
    { hardDelete = false, signal }: DeleteExamples = {},
  ): Promise<void> {
    validateIds(ids, "example id");
    for (const chunkOfIds of splitIntoChunks(ids)) {
      await (hardDelete
        ? this.#transport.call("removeExamples", {
            json: { example_ids: chunkOfIds, hard_delete: true },
            signal,
          })
        : this.#transport.call("deleteExamples", { query: { example_ids: chunkOfIds }, signal }));
    }
  }

  async #readChunkLimits(signal: AbortSignal | undefined): Promise<ChunkLimits> {
    const { batchBytes } = await this.#info.readOrDefaults({ signal });
    return { count: examplesPerRequest, bytes: batchBytes };
  }
}

const exampleFilterKeys = {
  ...callOptionKeys,
  ...datasetKeyNames,
  ids: true,
  asOf: true,
  splits: texts,
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
  deleteMany: { args: [texts, { ...callOptionKeys, hardDelete: true }] },
  upload: { args: [null, uploadExampleKeys] },
  uploadStream: { args: [uploadExampleKeys], throws: true },
};
