import { parseDataset } from "../../model/resources/dataset.ts";
import type { Dataset } from "../../model/resources/dataset.ts";
import { IncompleteError, NotFoundError, SdkError, ValidationError } from "../../model/errors.ts";
import type { Attachment } from "../../model/resources/attachment-response.ts";
import type { Example } from "../../model/resources/example.ts";
import { readAttachmentBytes } from "../http/attachment-bytes.ts";
import type { DatasetCatalog } from "./dataset-catalog.ts";
import type { CloneDataset } from "./dataset-options.ts";
import type { NewAttachment, NewExample } from "./example-options.ts";
import type { Examples } from "./examples.ts";
import type { ApiTransport } from "../http/http.ts";
import type { ServerInfoReader } from "../http/server-info.ts";
import { listSharedExamples } from "./shared-examples.ts";

/** What became of a clone. */
export type ClonedDataset =
  | { readonly kind: "cloned"; readonly dataset: Dataset; readonly exampleCount: number }
  /** A dataset has the name already: this one. */
  | { readonly kind: "skipped"; readonly dataset: Dataset };

export interface CloneTools {
  readonly datasets: DatasetCatalog;
  readonly examples: Examples;
  /** Of the server that the clone is made at. */
  readonly info: ServerInfoReader;
  /** Base address of that server. */
  readonly endpoint: string;
  readonly warn: (message: string) => void;
}

/** As the specification has it (section 4): skipped where the name is taken, named where it is left half done. */
export async function cloneDataset(
  asking: ApiTransport,
  { token, sourceEndpoint, signal, ...options }: CloneDataset & { readonly token: string },
  { datasets, examples, info, endpoint, warn }: CloneTools,
): Promise<ClonedDataset> {
  const server = checkEndpoint(sourceEndpoint);
  const { call } = asking;
  const found = await call("readSharedDataset", { path: { token }, server, signal });
  const source = parseDataset(found);
  const { name = source.name } = options;
  const present = await unlessNotFound(() => datasets.read({ datasetName: name, signal }));
  if (present !== undefined) {
    warn(`Dataset ${JSON.stringify(name)} already exists in your tenant: skipping its clone`);
    return { kind: "skipped", dataset: present };
  }
  const { description, dataType, inputsSchema, outputsSchema, metadata } = source;
  const schemas = { inputsSchema, outputsSchema };
  const made = { name, description, dataType, ...schemas, metadata, signal };
  const dataset = await datasets.create(made);
  try {
    const { exampleParts: includeAttachments } = await info.readOrDefaults({ signal });
    const shared = listSharedExamples(call, token, { server, includeAttachments, signal });
    const read = (attachment: Attachment): Promise<Uint8Array> =>
      readAttachmentBytes(asking, attachment, { endpoint: server ?? endpoint, signal });
    const copies = copiesOf(shared, read);
    const request = { datasetId: dataset.id, examples: copies, signal };
    const { exampleIds } = await examples.createMany(request);
    return { kind: "cloned", dataset, exampleCount: exampleIds.length };
  } catch (cause) {
    const failure = halfDone(dataset, cause);
    warn(failure.message);
    throw failure;
  }
}

async function* copiesOf(
  examples: AsyncIterable<Example>,
  read: (attachment: Attachment) => Promise<Uint8Array>,
): AsyncGenerator<NewExample, void> {
  for await (const { inputs, outputs, metadata, splits, attachments = {} } of examples) {
    const files = Object.entries(attachments).map(
      async ([name, attachment]): Promise<[string, NewAttachment]> => {
        const { mimeType = "application/octet-stream" } = attachment;
        return [name, { mimeType, data: await read(attachment) }];
      },
    );
    const split = splits.length === 0 ? undefined : splits;
    const copied = Object.fromEntries(await Promise.all(files));
    yield { inputs, outputs, metadata, split, attachments: copied };
  }
}

function halfDone({ id, name }: Dataset, cause: unknown): IncompleteError {
  const { doneIds, openIds } =
    cause instanceof IncompleteError ? cause : { doneIds: [], openIds: [] };
  const reason = cause instanceof Error ? cause.message : String(cause);
  const requestId = cause instanceof SdkError ? cause.requestId : undefined;
  return new IncompleteError(
    `Failed to clone a dataset: ${JSON.stringify(name)} (id ${id}) was created, but not all of its examples; it must be deleted manually: ${reason}`,
    { cause, doneIds, openIds, datasetId: id, requestId },
  );
}

async function unlessNotFound<Found>(find: () => Promise<Found>): Promise<Found | undefined> {
  try {
    return await find();
  } catch (error) {
    if (error instanceof NotFoundError) {
      return undefined;
    }
    throw error;
  }
}

function checkEndpoint(endpoint: string | undefined): string | undefined {
  if (endpoint === undefined) {
    return undefined;
  }
  if (!URL.canParse(endpoint) || !/^https?:$/.test(new URL(endpoint).protocol)) {
    throw new ValidationError("sourceEndpoint must be the address of an API, http or https");
  }
  return endpoint.replace(/\/+$/, "");
}
