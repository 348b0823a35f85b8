import { ResponseError, ConflictError, ValidationError } from "../../model/errors.ts";
import { parseExample } from "../../model/resources/example.ts";
import { Fields, parseList } from "../../model/fields.ts";
import { formOf, hasAttachments, jsonBodyOf } from "./example-wire.ts";
import type { ExampleDraft } from "./example-wire.ts";
import type { Call, CallOptions } from "../http/http.ts";
import { chunksOf } from "../http/pages.ts";
import type { ServerInfoReader } from "../http/server-info.ts";

/** Sends drafts: those with attachments as parts, others as JSON, which every server takes. */
export class ExampleWrites {
  readonly #call: Call;
  readonly #info: ServerInfoReader;

  constructor(call: Call, info: ServerInfoReader) {
    this.#call = call;
    this.#info = info;
  }

  /**
   * Creates them in one request. Their ids are known before, so that it may arrive twice: a server
   * that has them then answers with a conflict, or as at first.
   */
  async create(
    datasetId: string,
    drafts: readonly ExampleDraft[],
    { signal }: CallOptions,
  ): Promise<void> {
    try {
      if (drafts.some(hasAttachments)) {
        await this.#assertAttachments({ signal });
        const init = { path: { id: datasetId }, body: formOf(drafts), signal, repeatable: true };
        checkCount(await this.#call("uploadExamples", init), drafts.length);
        return;
      }
      const body = jsonBodyOf(drafts, { dataset_id: datasetId });
      const answer = await this.#call("createExamples", { body, signal, repeatable: true });
      checkCount(answer, drafts.length);
    } catch (error) {
      if (!(error instanceof ConflictError) || !(await this.#areThere(datasetId, drafts, signal))) {
        throw error;
      }
    }
  }

  /** Changes them in one request. Repeating it changes nothing more. */
  async update(
    drafts: readonly ExampleDraft[],
    { datasetId, signal }: CallOptions & { readonly datasetId?: string | undefined },
  ): Promise<void> {
    if (!drafts.some(hasAttachments)) {
      await this.#call("updateExamples", { body: jsonBodyOf(drafts, {}), signal });
      return;
    }
    await this.#assertAttachments({ signal });
    const id = datasetId ?? (await this.#datasetOf(drafts[0]?.id ?? "", signal));
    await this.#call("updateUploadedExamples", { path: { id }, body: formOf(drafts), signal });
  }

  async #assertAttachments(options: CallOptions): Promise<void> {
    if (!(await this.#info.read(options)).exampleParts) {
      throw new ValidationError(
        "This server takes no attachments of examples: its /info does not say dataset_examples_multipart_enabled. Leave them out, or use a server that does",
      );
    }
  }

  /** After a conflict: ids that were made here can only have come with an earlier try of the same request. */
  async #areThere(
    datasetId: string,
    drafts: readonly ExampleDraft[],
    signal: AbortSignal | undefined,
  ): Promise<boolean> {
    if (!drafts.every(({ isOwnId }) => isOwnId)) {
      return false;
    }
    for (const some of chunksOf(drafts)) {
      const query = { dataset: datasetId, id: some.map(({ id }) => id), limit: some.length };
      const found = await this.#call("listExamples", { query, signal });
      if (parseList(found, "examples", parseExample).length < some.length) {
        return false;
      }
    }
    return true;
  }

  async #datasetOf(id: string, signal: AbortSignal | undefined): Promise<string> {
    return parseExample(await this.#call("readExample", { path: { id }, signal })).datasetId;
  }
}

/** The examples, or how many they are: fewer than were sent would be lost in silence. */
function checkCount(answer: unknown, sent: number): void {
  const created: unknown = Array.isArray(answer)
    ? answer.length
    : new Fields(answer, "list of created examples").optionalNumber("count");
  if (typeof created === "number" && created !== sent) {
    throw new ResponseError(
      `Failed to create examples: ${sent} were sent, ${created} were created. Read the dataset to find which are missing, and create those`,
    );
  }
}

/** `make`, saying of what it refuses where it stands. */
export function counted<Item, Made>(make: (item: Item) => Made): (item: Item) => Made {
  let next = 0;
  return (item) => {
    const at = next++;
    try {
      return make(item);
    } catch (error) {
      throw error instanceof ValidationError
        ? new ValidationError(`Example ${at}: ${error.message}`, { cause: error })
        : error;
    }
  };
}

/**
 * All of an array is checked; what else can be iterated is checked as it is read.
 *
 * @throws {@link ValidationError} one is refused, or they are no examples at all.
 */
export function assertMany<Item>(
  items: Iterable<Item> | AsyncIterable<Item>,
  check: (item: Item) => unknown,
): void {
  if (Array.isArray(items)) {
    items.forEach(counted(check));
    return;
  }
  const isMany =
    typeof items === "object" &&
    items !== null &&
    (Symbol.iterator in items || Symbol.asyncIterator in items);
  if (!isMany) {
    throw new ValidationError("examples must be an array, or what can be iterated");
  }
}
