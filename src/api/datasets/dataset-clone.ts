import { parseDataset } from "../../model/resources/dataset.ts";
import type { Dataset } from "../../model/resources/dataset.ts";
import { IncompleteError, NotFoundError, SdkError, ValidationError } from "../../model/errors.ts";
import type { Attachment } from "../../model/resources/attachment-response.ts";
import type { Example } from "../../model/resources/example.ts";
import { readAttachmentBytes } from "../http/attachment-bytes.ts";
import type { CloneDataset, CreateDataset, DatasetCall } from "./dataset-options.ts";
import type { NewAttachment, NewExample } from "./example-options.ts";
import type { Examples } from "./examples.ts";
import type { ApiTransport } from "../http/http.ts";
import type { ServerInfoReader } from "../http/server-info.ts";
import { listSharedExamples } from "./shared-examples.ts";

/** The result of {@link Datasets.clone}. */
export type ClonedDataset =
  | { readonly kind: "cloned"; readonly dataset: Dataset; readonly exampleCount: number }
  /** Nothing was copied, because a dataset with the name of the copy exists already. `dataset` is the existing one. */
  | { readonly kind: "skipped"; readonly dataset: Dataset };

/** What cloning a dataset needs in addition to the source. */
export interface CloneTools {
  /** The client's own datasets. */
  readonly datasets: {
    read(key: DatasetCall): Promise<Dataset>;
    create(dataset: CreateDataset): Promise<Dataset>;
  };
  readonly examples: Examples;
  /** Limits and features of the server that receives the copy. */
  readonly serverInfo: ServerInfoReader;
  /** Base URL of the API of the server that receives the copy. */
  readonly endpoint: string;
  readonly warn: (message: string) => void;
}

/**
 * Copies a shared dataset, unless a dataset with the name of the copy exists already. If copying fails midway, the
 * error contains the name and the id of the incomplete dataset.
 */
export async function cloneDataset(
  transport: ApiTransport,
  { token, sourceEndpoint, signal, ...options }: CloneDataset & { readonly token: string },
  { datasets, examples, serverInfo, endpoint, warn }: CloneTools,
): Promise<ClonedDataset> {
  const server = parseSourceEndpoint(sourceEndpoint);
  const { call } = transport;
  const response = await call("readSharedDataset", { path: { token }, server, signal });
  const source = parseDataset(response);
  const { name = source.name } = options;
  const existing = await findOrUndefined(() => datasets.read({ datasetName: name, signal }));
  if (existing !== undefined) {
    warn(`Dataset ${JSON.stringify(name)} already exists in your tenant: skipping its clone`);
    return { kind: "skipped", dataset: existing };
  }
  const { description, dataType, inputsSchema, outputsSchema, metadata } = source;
  const schemas = { inputsSchema, outputsSchema };
  const dataset = await datasets.create({
    name,
    description,
    dataType,
    ...schemas,
    metadata,
    signal,
  });
  try {
    const { exampleParts: includeAttachments } = await serverInfo.readOrDefaults({ signal });
    const sharedExamples = listSharedExamples(call, token, { server, includeAttachments, signal });
    const readBytes = (attachment: Attachment): Promise<Uint8Array> =>
      readAttachmentBytes(transport, attachment, { endpoint: server ?? endpoint, signal });
    const copies = copyExamples(sharedExamples, readBytes);
    const request = { datasetId: dataset.id, examples: copies, signal };
    const { exampleIds } = await examples.createMany(request);
    const exampleCount = exampleIds.length;
    // The server returned `dataset` before the examples were created.
    return { kind: "cloned", dataset: { ...dataset, exampleCount }, exampleCount };
  } catch (cause) {
    const failure = toIncompleteError(dataset, cause);
    warn(failure.message);
    throw failure;
  }
}

async function* copyExamples(
  examples: AsyncIterable<Example>,
  readBytes: (attachment: Attachment) => Promise<Uint8Array>,
): AsyncGenerator<NewExample, void> {
  for await (const { inputs, outputs, metadata, splits, attachments = {} } of examples) {
    const files = Object.entries(attachments).map(
      async ([name, attachment]): Promise<[string, NewAttachment]> => {
        const { mimeType = "application/octet-stream" } = attachment;
        return [name, { mimeType, data: await readBytes(attachment) }];
      },
    );
    const split = splits.length === 0 ? undefined : splits;
    const copiedFiles = Object.fromEntries(await Promise.all(files));
    yield { inputs, outputs, metadata, split, attachments: copiedFiles };
  }
}

function toIncompleteError({ id, name }: Dataset, cause: unknown): IncompleteError {
  const { doneIds, openIds } =
    cause instanceof IncompleteError ? cause : { doneIds: [], openIds: [] };
  const reason = cause instanceof Error ? cause.message : String(cause);
  const requestId = cause instanceof SdkError ? cause.requestId : undefined;
  return new IncompleteError(
    `Failed to clone a dataset: ${JSON.stringify(name)} (id ${id}) was created, but not all of its examples were copied. Delete the dataset manually: ${reason}`,
    { cause, doneIds, openIds, datasetId: id, requestId },
  );
}

async function findOrUndefined<Found>(find: () => Promise<Found>): Promise<Found | undefined> {
  try {
    return await find();
  } catch (error) {
    if (error instanceof NotFoundError) {
      return undefined;
    }
    throw error;
  }
}

function parseSourceEndpoint(endpoint: string | undefined): string | undefined {
  if (endpoint === undefined) {
    return undefined;
  }
  if (!URL.canParse(endpoint) || !/^https?:$/.test(new URL(endpoint).protocol)) {
    throw new ValidationError("sourceEndpoint must be the http or https URL of an API");
  }
  return endpoint.replace(/\/+$/, "");
}
