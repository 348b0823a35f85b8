import type {
  Attachment,
  Client,
  Dataset,
  Example,
  ListExamples,
  NewAttachment,
  VersionKey,
} from "../../main/index.ts";
import { NotFoundError, ValidationError } from "../../main/index.ts";
import { checkKeys, formatValue, unknownKeysOf, unknownKeyText } from "../../model/index.ts";
import type { KeyTable } from "../../model/index.ts";
import type {
  DatasetSelection,
  EvaluationData,
  EvaluationExample,
  EvaluationRow,
  ExampleAttachment,
  ExampleAttachments,
} from "../data.ts";
import { RowIds, rowNamespace } from "../ids.ts";

/** The rows of an evaluation. */
export interface RowSource {
  /** Describes the data, for the name of the experiment. */
  readonly name: string;
  /** Identifies the data. An interrupted experiment is continued only if its data has the same identity. */
  readonly identity: string;
  /** The dataset that the rows are examples of, if any. For an iterable, the dataset of its first row. */
  readonly dataset?: Pick<Dataset, "id" | "baselineExperimentId"> | undefined;
  /** The dataset's version at the start of the evaluation. */
  readonly datasetVersion?: string | undefined;
  /** Number of rows, if it is known. */
  readonly size?: number | undefined;
  /** Reads the rows, from the first one on. Can be called only once. */
  read(options: ReadRows): AsyncGenerator<EvaluationExample<unknown, unknown>, void>;
}

interface ReadRows {
  /** The version to read, if an interrupted evaluation is continued. */
  readonly datasetVersion?: string | undefined;
}

const selectionKeys: KeyTable<DatasetSelection> = {
  datasetId: 1,
  datasetName: 1,
  asOf: 1,
  splits: 1,
  ids: 1,
  metadata: 1,
  filter: 1,
  limit: 1,
  includeAttachments: 1,
};

/** Opens the data of an evaluation. Examples of a dataset are read from a fixed version. */
export async function openSource(
  client: Client,
  data: EvaluationData<unknown, unknown>,
  signal: AbortSignal,
): Promise<RowSource> {
  const untyped: unknown = data;
  if (typeof untyped === "string") {
    return openDataset(client, { datasetName: untyped }, signal);
  }
  if (typeof untyped !== "object" || untyped === null) {
    throw new ValidationError(
      "evaluate: `data` must be the name of a dataset, an object such as { datasetName, splits }, or an iterable of rows",
    );
  }
  if (Symbol.asyncIterator in untyped || Symbol.iterator in untyped) {
    return openIterable(client, untyped as AsyncIterable<unknown>);
  }
  checkKeys(untyped as DatasetSelection, selectionKeys, {
    subject: "evaluate: `data`",
    error: ValidationError,
  });
  return openDataset(client, untyped as DatasetSelection, signal);
}

async function openDataset(
  client: Client,
  selection: DatasetSelection,
  signal: AbortSignal,
): Promise<RowSource> {
  const { asOf, limit, datasetId, datasetName, ...filter } = selection;
  const key = datasetId === undefined ? { datasetName } : { datasetId };
  const dataset = await client.datasets.read({ ...(key as { datasetId: string }), signal });
  const version = await pinVersion(client, { datasetId: dataset.id, asOf }, signal);
  // The version is fixed, so this count stays correct while the examples are read.
  const count = await client.examples.count({
    datasetId: dataset.id,
    asOf: version.asOf,
    ...omitAttachments(filter),
    signal,
  });
  const list = (pinned: string): AsyncIterable<Example> => {
    const query: ListExamples = { datasetId: dataset.id, ...filter, asOf: pinned, limit, signal };
    return client.examples.list({ ...query, order: "written" });
  };
  return {
    name: dataset.name,
    identity: JSON.stringify({ dataset: dataset.id, ...filter, limit, asOf: toText(asOf) }),
    dataset,
    datasetVersion: version.asOf,
    size: Math.min(count, limit ?? Number.POSITIVE_INFINITY),
    async *read({ datasetVersion = version.asOf }) {
      for await (const example of readAhead(list(datasetVersion))) {
        yield toEvaluationExample(client, example, example.id);
      }
    },
  };
}

/**
 * Finds the time of a version. A dataset that never had an example has no version; then the current time is returned.
 *
 * @throws {@link NotFoundError} if `asOf` is given and there is no such version.
 * @throws {@link ValidationError} if `asOf` is neither a time nor a tag.
 */
export async function pinVersion(
  client: Client,
  { datasetId, asOf }: { readonly datasetId: string; readonly asOf: VersionKey | undefined },
  signal: AbortSignal,
): Promise<{ readonly asOf: string }> {
  checkVersion(asOf);
  const version =
    asOf === undefined || !isTime(asOf) ? { tag: String(asOf ?? "latest") } : { asOf };
  try {
    return await client.datasets.readVersion({ datasetId, ...version, signal });
  } catch (error) {
    if (!(error instanceof NotFoundError)) {
      throw error;
    }
    if (asOf === undefined) {
      return { asOf: new Date().toISOString() };
    }
    throw createVersionError(asOf, error);
  }
}

/** Creates an error that names the option and the version, because the message of the failed request names neither. */
function createVersionError(asOf: VersionKey, cause: NotFoundError): NotFoundError {
  const { status, detail, requestId } = cause;
  const version = isTime(asOf)
    ? `at or before ${toText(asOf)}`
    : `with the tag ${formatValue(asOf)}`;
  const message = `evaluate: \`asOf\` of \`data\`: the dataset has no version ${version}. Pass a time after its first example or a tag that client.datasets.tag() has set, or leave \`asOf\` out to use the latest version`;
  return new NotFoundError({
    action: "read dataset version",
    status,
    body: detail,
    message,
    requestId,
    cause,
  });
}

/** @throws {@link ValidationError} if `asOf` is given and is neither a time nor a tag. */
function checkVersion(asOf: unknown): void {
  const isDate = asOf instanceof Date;
  const isVersion = isDate
    ? !Number.isNaN(asOf.getTime())
    : typeof asOf === "string" && asOf !== "";
  if (asOf !== undefined && !isVersion) {
    throw new ValidationError(
      `evaluate: \`asOf\` of \`data\` must be a Date, a string with a time in ISO 8601 format, or a tag, not ${isDate ? "an invalid Date" : formatValue(asOf)}. Leave it out to use the latest version`,
    );
  }
}

const omitAttachments = ({
  includeAttachments: _,
  ...filter
}: Pick<DatasetSelection, "includeAttachments" | "splits" | "ids" | "metadata" | "filter">) =>
  filter;

/** Whether a version is a time; otherwise it is a tag. `Date.parse` alone would also accept a tag such as `v1`. */
const isTime = (version: Date | string): boolean =>
  version instanceof Date || (/^\d{4}-\d\d/.test(version) && !Number.isNaN(Date.parse(version)));

const toText = (version: Date | string | undefined): string | undefined =>
  version instanceof Date ? version.toISOString() : version;

/** Number of examples that are requested in advance: as many as a page contains. */
const aheadLimit = 100;

/**
 * Yields items, and requests up to {@link aheadLimit} of them in advance, so that the evaluation does not wait for each
 * page of examples.
 */
async function* readAhead<Item>(items: AsyncIterable<Item>): AsyncGenerator<Item, void> {
  const iterator = items[Symbol.asyncIterator]();
  const queue: Promise<IteratorResult<Item>>[] = [];
  try {
    while (true) {
      while (queue.length < aheadLimit) {
        const next = iterator.next();
        // Prevent an unhandled rejection: a failure is thrown below, when the loop reaches the item.
        next.catch(() => {});
        queue.push(next);
      }
      const result = await queue.shift();
      if (result === undefined || result.done === true) {
        return;
      }
      yield result.value;
    }
  } finally {
    await iterator.return?.();
  }
}

async function openIterable(
  client: Client,
  rows: AsyncIterable<unknown> | Iterable<unknown>,
): Promise<RowSource> {
  const iterator =
    Symbol.asyncIterator in rows ? rows[Symbol.asyncIterator]() : rows[Symbol.iterator]();
  // Read the first row now. If it is an example of a dataset, the experiment needs the dataset's id when it is created.
  const firstResult = await iterator.next();
  const datasetId =
    firstResult.done === true ? undefined : checkRow(firstResult.value, 1).datasetId;
  const rowCount = Array.isArray(rows) ? rows.length : undefined;
  return {
    name: "rows",
    identity: JSON.stringify({ iterable: datasetId ?? true }),
    ...(datasetId === undefined ? {} : { dataset: await client.datasets.read({ datasetId }) }),
    ...(rowCount === undefined ? {} : { size: rowCount }),
    async *read() {
      const ids = new RowIds(rowNamespace);
      let [result, number] = [firstResult, 1];
      let isAtEnd = result.done === true;
      try {
        while (!isAtEnd) {
          const row = checkRow(result.value, number);
          if (row.datasetId !== datasetId) {
            throw new ValidationError(
              `Row ${number} of \`data\` belongs to ${describeDataset(row.datasetId)}, and row 1 to ${describeDataset(datasetId)}. Evaluate each dataset in its own experiment`,
            );
          }
          yield toEvaluationExample(client, row, ids.create(row));
          result = await iterator.next();
          number += 1;
          isAtEnd = result.done === true;
        }
      } finally {
        if (!isAtEnd) {
          await iterator.return?.();
        }
      }
    },
  };
}

const describeDataset = (id: string | undefined): string =>
  id === undefined ? "no dataset" : `the dataset ${id}`;

const rowKeys: KeyTable<EvaluationRow & Example> = {
  id: 1,
  inputs: 1,
  outputs: 1,
  metadata: 1,
  splits: 1,
  datasetId: 1,
  attachments: 1,
  sourceRunId: 1,
  createdAt: 1,
  modifiedAt: 1,
};
const rowKeyNames = Object.keys(rowKeys);

/** @throws {@link ValidationError} if a value is not a row; the message contains its number. */
function checkRow(value: unknown, number: number): EvaluationRow<unknown, unknown> {
  if (typeof value !== "object" || value === null) {
    throw new ValidationError(
      `Row ${number} of \`data\` is not an object. A row is { inputs, outputs }, where \`outputs\` are the expected outputs`,
    );
  }
  const [unknownKey] = unknownKeysOf(value, rowKeyNames);
  if (unknownKey !== undefined) {
    throw new ValidationError(
      `Row ${number} of \`data\` has an ${unknownKeyText("member", unknownKey)}`,
    );
  }
  const row = value as EvaluationRow<unknown, unknown>;
  if (row.inputs === undefined) {
    throw new ValidationError(
      `Row ${number} of \`data\` has no \`inputs\`. A row is { inputs, outputs }, where \`outputs\` are the expected outputs`,
    );
  }
  if (row.id !== undefined && (typeof row.id !== "string" || row.id === "")) {
    throw new ValidationError(
      `Row ${number} of \`data\` has an \`id\` that is not a non-empty string. Pass String(id), or leave it out`,
    );
  }
  return row;
}

function toEvaluationExample(
  client: Client,
  row: EvaluationRow<unknown, unknown>,
  id: string,
): EvaluationExample<unknown, unknown> {
  const { attachments, ...fields } = row;
  return {
    ...fields,
    id,
    metadata: row.metadata ?? {},
    splits: row.splits ?? [],
    ...(attachments && { attachments: toExampleAttachments(client, attachments) }),
  };
}

/** Converts attachments of all accepted forms to attachments with a method `read`. */
function toExampleAttachments(
  client: Client,
  attachments: NonNullable<EvaluationRow["attachments"]>,
): ExampleAttachments {
  return Object.fromEntries(
    Object.entries(attachments).map(([name, attachment]) => [
      name,
      toExampleAttachment(client, attachment),
    ]),
  );
}

function toExampleAttachment(
  client: Client,
  attachment: ExampleAttachment | Attachment | NewAttachment,
): ExampleAttachment {
  if ("read" in attachment) {
    return attachment;
  }
  if ("data" in attachment) {
    const { mimeType, data } = attachment;
    return {
      mimeType,
      read: async () => new Uint8Array(data instanceof Blob ? await data.arrayBuffer() : data),
    };
  }
  return { mimeType: attachment.mimeType, read: () => client.examples.readAttachment(attachment) };
}
