import { ResponseError, ConflictError, ValidationError } from "../../model/errors.ts";
import { parseExample } from "../../model/resources/example.ts";
import type { Example } from "../../model/resources/example.ts";
import { Fields, parseList } from "../../model/fields.ts";
import { createForm, hasAttachments, createJsonBody, retainOthers } from "./example-wire.ts";
import { exampleMembers } from "./example-query.ts";
import type { ExampleDraft } from "./example-wire.ts";
import type { Call, CallOptions } from "../http/http.ts";
import { splitIntoChunks } from "../http/pages.ts";
import type { ServerInfoReader } from "../http/server-info.ts";

/**
 * Sends examples: as a multipart body if any of them has attachments, otherwise as JSON, which every server accepts.
 */
export class ExampleSender {
  readonly #call: Call;
  readonly #info: ServerInfoReader;

  constructor(call: Call, serverInfo: ServerInfoReader) {
    this.#call = call;
    this.#info = serverInfo;
  }

  /**
   * Creates the examples in one request. It is safe to send the request twice, because the examples already have ids:
   * a server that has these examples responds with a conflict or with the first response again.
   */
  async create(
    datasetId: string,
    drafts: readonly ExampleDraft[],
    { signal }: CallOptions,
  ): Promise<void> {
    try {
      if (drafts.some(hasAttachments)) {
        await this.#assertAttachments({ signal });
        const init = {
          path: { id: datasetId },
          body: createForm(drafts),
          signal,
          repeatable: true,
        };
        checkCount(await this.#call("uploadExamples", init), drafts.length);
        return;
      }
      const body = createJsonBody(drafts, { dataset_id: datasetId });
      const response = await this.#call("createExamples", { body, signal, repeatable: true });
      checkCount(response, drafts.length);
    } catch (error) {
      if (
        !(error instanceof ConflictError) ||
        !(await this.#wereCreated(datasetId, drafts, signal))
      ) {
        throw error;
      }
    }
  }

  /** Changes one example without adding attachments. Every server accepts this request. */
  async updateOne(incompleteDraft: ExampleDraft, { signal }: CallOptions): Promise<void> {
    for (const draft of await this.#completeRenames([incompleteDraft], signal)) {
      const init = { path: { id: draft.id }, body: createJsonBody(draft), signal };
      await this.#call("updateExample", init);
    }
  }

  /** Changes the examples in one request. Repeating the request has no further effect. */
  async update(
    incompleteDrafts: readonly ExampleDraft[],
    { datasetId, signal }: CallOptions & { readonly datasetId?: string | undefined },
  ): Promise<void> {
    const drafts = await this.#completeRenames(incompleteDrafts, signal);
    if (!drafts.some(hasAttachments)) {
      await this.#call("updateExamples", { body: createJsonBody(drafts, {}), signal });
      return;
    }
    await this.#assertAttachments({ signal });
    const id = datasetId ?? (await this.#readDatasetId(drafts[0]?.id ?? "", signal));
    await this.#call("updateUploadedExamples", { path: { id }, body: createForm(drafts), signal });
  }

  async #assertAttachments(options: CallOptions): Promise<void> {
    if (!(await this.#info.read(options)).exampleParts) {
      throw new ValidationError(
        "This server does not accept attachments of examples: its /info does not contain dataset_examples_multipart_enabled. Remove the attachments, or use a server that supports them",
      );
    }
  }

  /**
   * Returns whether an earlier attempt of the same request created the examples. Called after a conflict. Ids that
   * the client generated can't exist for any other reason.
   */
  async #wereCreated(
    datasetId: string,
    drafts: readonly ExampleDraft[],
    signal: AbortSignal | undefined,
  ): Promise<boolean> {
    if (!drafts.every(({ isGeneratedId }) => isGeneratedId)) {
      return false;
    }
    for (const chunk of splitIntoChunks(drafts)) {
      const query = { dataset: datasetId, id: chunk.map(({ id }) => id), limit: chunk.length };
      const listResponse = await this.#call("listExamples", { query, signal });
      if (parseList(listResponse, "examples", parseExample).length < chunk.length) {
        return false;
      }
    }
    return true;
  }

  /**
   * Completes the drafts that only rename attachments: adds the names of the attachments to keep. If one of their
   * examples does not exist, throws the server's error for reading that example.
   */
  async #completeRenames(
    drafts: readonly ExampleDraft[],
    signal: AbortSignal | undefined,
  ): Promise<readonly ExampleDraft[]> {
    const ids = drafts.filter(({ renamesOnly }) => renamesOnly !== undefined).map(({ id }) => id);
    const examples = new Map<string, Example>();
    for (const chunk of ids.length > 1 ? splitIntoChunks(ids) : []) {
      const query = { id: chunk, select: exampleMembers, limit: chunk.length };
      const response = await this.#call("listExamples", { query, signal });
      for (const example of parseList(response, "examples", parseExample)) {
        examples.set(example.id, example);
      }
    }
    const complete = async (draft: ExampleDraft): Promise<ExampleDraft> => {
      if (draft.renamesOnly === undefined) {
        return draft;
      }
      const { attachments = {} } =
        examples.get(draft.id) ?? (await this.#readExample(draft.id, signal));
      return retainOthers(draft, Object.keys(attachments));
    };
    return Promise.all(drafts.map(complete));
  }

  async #readDatasetId(id: string, signal: AbortSignal | undefined): Promise<string> {
    return (await this.#readExample(id, signal)).datasetId;
  }

  async #readExample(id: string, signal: AbortSignal | undefined): Promise<Example> {
    return parseExample(await this.#call("readExample", { path: { id }, signal }));
  }
}

/**
 * Checks that the response lists or counts as many examples as were sent. Without this check, a partial success would
 * go unnoticed.
 */
function checkCount(response: unknown, sentCount: number): void {
  const createdCount: unknown = Array.isArray(response)
    ? response.length
    : new Fields(response, "list of created examples").readOptionalNumber("count");
  if (typeof createdCount === "number" && createdCount !== sentCount) {
    throw new ResponseError(
      `Failed to create examples: ${sentCount} were sent, ${createdCount} were created. Read the dataset to find which are missing, and create those`,
    );
  }
}

/** Wraps `convert` so that its validation errors begin with the position of the example in the input, from 0. */
export function withItemNumber<Item, Result>(
  convert: (item: Item) => Result,
): (item: Item) => Result {
  let nextIndex = 0;
  return (item) => {
    const index = nextIndex++;
    try {
      return convert(item);
    } catch (error) {
      throw error instanceof ValidationError
        ? new ValidationError(`Example ${index}: ${error.message}`, { cause: error })
        : error;
    }
  };
}

/**
 * Validates the items of an array. Any other iterable is validated while it is read.
 *
 * @throws {@link ValidationError} if an item is invalid, or `items` can't be iterated.
 */
export function validateExamples<Item>(
  items: Iterable<Item> | AsyncIterable<Item>,
  check: (item: Item) => unknown,
): void {
  if (Array.isArray(items)) {
    items.forEach(withItemNumber(check));
    return;
  }
  const isIterable =
    typeof items === "object" &&
    items !== null &&
    (Symbol.iterator in items || Symbol.asyncIterator in items);
  if (!isIterable) {
    throw new ValidationError("examples must be an array or another iterable");
  }
}
