import { omitUndefined } from "../omit-undefined.ts";
import type {
  ChatMessage,
  CreateExample,
  ExampleUpdate as MillraceUpdate,
  NewAttachment,
  NewExample,
} from "millrace";
import type {
  Attachments,
  Example,
  ExampleCreate,
  ExampleUpdate,
  ExampleUpdateWithoutId,
  KVMap,
  LangChainBaseMessage,
  UpdateExamplesResponse,
  UploadExamplesResponse,
} from "../schemas.ts";
import { convert } from "./base-client.ts";
import { DatasetMethods, toDatasetKey } from "./dataset-methods.ts";
import type { DatasetSelector } from "./dataset-methods.ts";
import { toExample } from "./to-langsmith.ts";

/** Options of the call `createExample(inputs, outputs, options)`. */
export interface CreateExampleOptions extends DatasetSelector {
  createdAt?: Date;
  exampleId?: string;
  metadata?: KVMap;
  split?: string | string[];
  sourceRunId?: string;
  useSourceRunIO?: boolean;
  useSourceRunAttachments?: string[];
  attachments?: Attachments;
}

/** Arguments of `createExamples` that are lists of the same length. */
interface ExampleLists extends DatasetSelector {
  inputs?: KVMap[];
  outputs?: KVMap[];
  metadata?: KVMap[];
  splits?: (string | string[])[];
  sourceRunIds?: string[];
  useSourceRunIOs?: boolean[];
  useSourceRunAttachments?: string[][];
  attachments?: Attachments[];
  exampleIds?: string[];
}

/** The client's methods that create, read, update and delete examples of datasets. */
export class ExampleMethods extends DatasetMethods {
  async createExample(example: ExampleCreate): Promise<Example>;
  async createExample(
    inputs: KVMap,
    outputs: KVMap,
    options: CreateExampleOptions,
  ): Promise<Example>;
  async createExample(
    inputsOrExample: KVMap | ExampleCreate,
    outputs?: KVMap,
    options?: CreateExampleOptions,
  ): Promise<Example> {
    const example =
      options === undefined
        ? (inputsOrExample as ExampleCreate)
        : toExampleCreate(inputsOrExample, outputs, options);
    return toExample(
      await this.millrace.examples.create({
        ...toDatasetKey(toSelector(example)),
        ...(await this.#toNewExample(example)),
        // The types of langsmith allow an example without inputs, but the call rejects it.
      } as CreateExample),
    );
  }

  async createExamples(examples: ExampleCreate[]): Promise<Example[]>;
  async createExamples(lists: ExampleLists): Promise<Example[]>;
  async createExamples(examplesOrLists: ExampleCreate[] | ExampleLists): Promise<Example[]> {
    const examples = Array.isArray(examplesOrLists) ? examplesOrLists : toExamples(examplesOrLists);
    const [first] = examples;
    if (first === undefined) {
      return [];
    }
    const dataset = toDatasetKey(toSelector(first));
    const { exampleIds } = await this.millrace.examples.createMany({
      ...dataset,
      examples: await this.#toNewExamples(examples),
    });
    const created = new Map<string, Example>();
    const filter = { ...dataset, ids: exampleIds, includeAttachments: true };
    for await (const example of this.millrace.examples.list(filter)) {
      created.set(example.id, toExample(example));
    }
    return exampleIds.flatMap((id) => created.get(id) ?? []);
  }

  async createLLMExample(
    input: string,
    generation: string | undefined,
    options: CreateExampleOptions,
  ): Promise<Example> {
    return this.createExample({ input }, { output: generation }, options);
  }

  async createChatExample(
    input: KVMap[] | LangChainBaseMessage[],
    generations: KVMap | LangChainBaseMessage | undefined,
    options: CreateExampleOptions,
  ): Promise<Example> {
    const {
      inputs: _,
      outputs: __,
      ...fields
    } = await this.#toNewExample(toExampleCreate({}, {}, options));
    return toExample(
      await this.millrace.examples.createChat({
        ...toDatasetKey(options),
        ...fields,
        messages: input as ChatMessage[],
        ...(generations === undefined ? {} : { answer: generations as ChatMessage }),
      }),
    );
  }

  async readExample(exampleId: string): Promise<Example> {
    return toExample(await this.millrace.examples.read(exampleId));
  }

  async *listExamples(
    filter: DatasetSelector & {
      exampleIds?: string[];
      asOf?: string | Date;
      splits?: string[];
      inlineS3Urls?: boolean;
      metadata?: KVMap;
      limit?: number;
      offset?: number;
      filter?: string;
      includeAttachments?: boolean;
    } = {},
  ): AsyncIterable<Example> {
    const { datasetId, datasetName, exampleIds, ...others } = filter;
    const selector = omitUndefined({ datasetId, datasetName });
    if (datasetId === undefined && datasetName === undefined && exampleIds !== undefined) {
      for (const id of exampleIds) {
        yield this.readExample(id);
      }
      return;
    }
    const key = toDatasetKey(selector);
    yield* convert(
      this.millrace.examples.list({ ...key, ...omitUndefined({ ...others, ids: exampleIds }) }),
      toExample,
    );
  }

  async updateExample(exampleId: string, update: ExampleUpdateWithoutId): Promise<object>;
  async updateExample(update: ExampleUpdate): Promise<object>;
  async updateExample(
    idOrUpdate: string | ExampleUpdate,
    changes: ExampleUpdateWithoutId = {},
  ): Promise<object> {
    const update = typeof idOrUpdate === "string" ? { ...changes, id: idOrUpdate } : idOrUpdate;
    return this.updateExamples([update]);
  }

  async updateExamples(updates: ExampleUpdate[]): Promise<object> {
    const datasetId = updates[0]?.dataset_id;
    await this.millrace.examples.updateMany({
      examples: updates.map(toMillraceUpdate),
      ...omitUndefined({ datasetId }),
    });
    return { count: updates.length, example_ids: updates.map(({ id }) => id) };
  }

  async uploadExamplesMultipart(
    datasetId: string,
    uploads: ExampleCreate[] = [],
  ): Promise<UploadExamplesResponse> {
    const { exampleIds } = await this.millrace.examples.createMany({
      datasetId,
      examples: await this.#toNewExamples(uploads),
    });
    return { count: exampleIds.length, example_ids: [...exampleIds] };
  }

  async updateExamplesMultipart(
    datasetId: string,
    updates: ExampleUpdate[] = [],
  ): Promise<UpdateExamplesResponse> {
    await this.updateExamples(updates.map((update) => ({ ...update, dataset_id: datasetId })));
    return { count: updates.length, example_ids: updates.map(({ id }) => id) };
  }

  async deleteExample(exampleId: string): Promise<void> {
    await this.millrace.examples.delete(exampleId);
  }

  async deleteExamples(exampleIds: string[], options?: { hardDelete?: boolean }): Promise<void> {
    await this.millrace.examples.deleteMany(exampleIds, omitUndefined({ ...options }));
  }

  #toNewExamples(examples: readonly ExampleCreate[]): Promise<NewExample[]> {
    return Promise.all(examples.map((example) => this.#toNewExample(example)));
  }

  async #toNewExample(example: ExampleCreate): Promise<NewExample> {
    const attachments = {
      ...(await this.#readRunAttachments(example)),
      ...toNewAttachments(example.attachments),
    };
    return omitUndefined({
      id: example.id,
      inputs: example.inputs,
      outputs: example.outputs,
      metadata: example.metadata,
      split: example.split,
      createdAt: example.created_at,
      sourceRunId: example.source_run_id,
      useSourceRunIo: example.use_source_run_io,
      attachments: Object.keys(attachments).length === 0 ? undefined : attachments,
    });
  }

  /** Downloads the attachments of a run that are copied to an example. */
  async #readRunAttachments({
    source_run_id: runId,
    use_source_run_attachments: names = [],
  }: ExampleCreate): Promise<Record<string, NewAttachment>> {
    if (runId === undefined || names.length === 0) {
      return {};
    }
    const { runs } = this.millrace;
    const attachments = await runs.readAttachments(runId);
    const copies = names.flatMap((name) => {
      const attachment = attachments[name];
      return attachment === undefined
        ? []
        : runs
            .readAttachment(attachment)
            .then((data): [string, NewAttachment] => [
              name,
              { mimeType: attachment.mimeType ?? "application/octet-stream", data },
            ]);
    });
    return Object.fromEntries(await Promise.all(copies));
  }
}

const toSelector = (example: ExampleCreate): DatasetSelector =>
  omitUndefined({ datasetId: example.dataset_id, datasetName: example.dataset_name });

const toExampleCreate = (
  inputs: KVMap | undefined,
  outputs: KVMap | undefined,
  options: CreateExampleOptions,
): ExampleCreate =>
  omitUndefined({
    inputs,
    outputs,
    id: options.exampleId,
    dataset_id: options.datasetId,
    dataset_name: options.datasetName,
    metadata: options.metadata,
    split: options.split,
    created_at: options.createdAt?.toISOString(),
    source_run_id: options.sourceRunId,
    use_source_run_io: options.useSourceRunIO,
    use_source_run_attachments: options.useSourceRunAttachments,
    attachments: options.attachments,
  }) as ExampleCreate;

function toExamples(lists: ExampleLists): ExampleCreate[] {
  const { inputs, outputs, exampleIds, sourceRunIds } = lists;
  const length = (inputs ?? sourceRunIds ?? []).length;
  return Array.from({ length }, (_, index) =>
    toExampleCreate(
      inputs?.[index],
      outputs?.[index],
      omitUndefined({
        datasetId: lists.datasetId,
        datasetName: lists.datasetName,
        exampleId: exampleIds?.[index],
        metadata: lists.metadata?.[index],
        split: lists.splits?.[index],
        sourceRunId: sourceRunIds?.[index],
        useSourceRunIO: lists.useSourceRunIOs?.[index],
        useSourceRunAttachments: lists.useSourceRunAttachments?.[index],
        attachments: lists.attachments?.[index],
      }),
    ),
  );
}

function toMillraceUpdate(update: ExampleUpdate): MillraceUpdate {
  const operations = update.attachments_operations as
    | { readonly retain?: string[]; readonly rename?: Record<string, string> }
    | undefined;
  return omitUndefined({
    id: update.id,
    inputs: update.inputs,
    outputs: update.outputs,
    metadata: update.metadata,
    split: update.split,
    attachments: toNewAttachments(update.attachments),
    retainAttachments: operations?.retain,
    renameAttachments: operations?.rename,
  });
}

function toNewAttachments(
  attachments: Attachments | undefined,
): Record<string, NewAttachment> | undefined {
  if (attachments === undefined) {
    return undefined;
  }
  return Object.fromEntries(
    Object.entries(attachments).map(([name, attachment]) => [
      name,
      Array.isArray(attachment) ? { mimeType: attachment[0], data: attachment[1] } : attachment,
    ]),
  );
}
