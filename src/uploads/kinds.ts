import { validateNewExample, exampleKeys } from "../api/datasets/example-wire.ts";
import type { NewAttachments, NewExample } from "../api/datasets/example-options.ts";
import { feedbackKeys, toWireFeedback } from "../api/feedback-input.ts";
import type { CreateFeedback } from "../api/feedback-input.ts";
import { toIsoTime } from "../api/http/iso-time.ts";
import { checkValue } from "../api/http/known-arguments.ts";
import type { RowId, UploadExamples, UploadFeedback, UploadRuns } from "../api/uploads.ts";
import { ValidationError } from "../model/errors.ts";
import { assertUuid, isUuid } from "../model/ids.ts";
import type { WirePost } from "../model/run.ts";
import { unknownKeysOf, unknownKeyText } from "../model/unknown-keys.ts";
import { attachmentKeys } from "../tracing/tape/attachment-writer.ts";
import { PayloadFilters } from "../tracing/tape/payload-filters.ts";
import type { FilterOptions } from "../tracing/tape/payload-filters.ts";
import { RecordEncoder } from "../tracing/tape/record-encoder.ts";
import type { TapeWriter } from "../tracing/tape/tape-writer.ts";
import { rowField } from "./row-format.ts";
import { createIdFromKey } from "./row-id.ts";
import { RowFields } from "./row-writer.ts";
import type { EncodeRow } from "./row-writer.ts";

/** Creates a function that encodes rows with a tape writer. */
export type CreateEncoder = (out: TapeWriter) => EncodeRow;

/** The namespace of feedback ids: the OID namespace of RFC 9562, which is not the id of any dataset. */
const feedbackNamespace = "6ba7b812-9dad-11d1-80b4-00c04fd430c8";

export const createExampleEncoder =
  <Row>({ toExample, idFrom }: UploadExamples<Row>, datasetId: string): CreateEncoder =>
  (out) => {
    const fields = new RowFields(out);
    return (item, row) => {
      const typedItem = item as Row;
      const example = validateNewExample(
        toExample === undefined
          ? (removeKeyColumn(item, idFrom, exampleKeys) as NewExample)
          : toExample(typedItem, row),
      );
      assertJsonObjects(example);
      fields.beginRow();
      fields.writeDouble(rowField.row, row);
      fields.writeAscii(
        rowField.id,
        example.id ?? createRowId({ idFrom, item: typedItem, row }, datasetId),
      );
      fields.writeValue(rowField.inputs, example.inputs);
      fields.writeValue(rowField.outputs, example.outputs);
      fields.writeValue(rowField.metadata, example.metadata);
      fields.writeValue(rowField.split, example.split);
      fields.writeValue(rowField.createdAt, toIsoTime(example.createdAt, "createdAt"));
      fields.writeValue(rowField.sourceRunId, example.sourceRunId);
      writeAttachments(fields, example.attachments ?? {});
    };
  };

/**
 * Returns a row without its key column, from which the row's id is derived. The column is kept if it is also a field of
 * the example or feedback. A key column `id` is always removed, because its values need not be UUIDs.
 */
function removeKeyColumn<Row>(
  item: unknown,
  idFrom: RowId<Row> | undefined,
  knownKeys: object,
): unknown {
  const key = typeof idFrom === "object" ? idFrom.key : undefined;
  if (typeof item !== "object" || key === undefined || (key !== "id" && key in knownKeys)) {
    return item;
  }
  const { [key]: _key, ...otherMembers } = item as Readonly<Record<string, unknown>>;
  return otherMembers;
}

export const createFeedbackEncoder =
  <Row>({ toFeedback, idFrom }: UploadFeedback<Row>): CreateEncoder =>
  (out) => {
    const fields = new RowFields(out);
    return (item, row) => {
      const typedItem = item as Row;
      const feedback =
        toFeedback === undefined
          ? (removeKeyColumn(item, idFrom, feedbackKeys) as CreateFeedback)
          : toFeedback(typedItem, row);
      checkValue(feedback, feedbackKeys, { call: "feedback.upload", path: "" });
      const key =
        readRowKey({ idFrom, item: typedItem, row }) ?? `content:${JSON.stringify(feedback)}`;
      const id = feedback.id ?? createIdFromKey(feedbackNamespace, key);
      fields.beginRow();
      fields.writeDouble(rowField.row, row);
      fields.writeAscii(rowField.id, id);
      fields.writeValue(rowField.body, toWireFeedback({ ...feedback, id }));
    };
  };

function refuse(message: string): never {
  throw new ValidationError(message);
}

/** Options of {@link createRunEncoder}. */
export interface RunEncoderOptions {
  readonly filters: FilterOptions;
  /** Maximum size of one attachment in bytes. */
  readonly attachmentBytes: number;
  /** The row number of each run id. The encoder adds entries. */
  readonly rowNumbersById: Map<string, number>;
}

/** Creates the encoder for runs in wire format. It adds the row number of each run id to `rowNumbersById`. */
export const createRunEncoder =
  <Row>(
    { toRun, projectName }: UploadRuns<Row> & { readonly projectName: string },
    { filters, attachmentBytes, rowNumbersById }: RunEncoderOptions,
  ): CreateEncoder =>
  (out) => {
    const encoder = new RecordEncoder(out, {
      filters: new PayloadFilters(filters, refuse),
      // Uploaded rows are untrusted data, so an attachment must not name a file of this machine.
      attachments: {
        attachmentBytes,
        dangerouslyAllowFilesystem: false,
        onOmitted: refuse,
        checkKeys: (attachment) => {
          const [unknown] = unknownKeysOf(attachment, Object.keys(attachmentKeys));
          return unknown && unknownKeyText("member", unknown);
        },
      },
    });
    return (item, row) => {
      const run = toRun === undefined ? (item as WirePost) : toRun(item as Row, row);
      const id: unknown = typeof run === "object" && run !== null ? run.id : undefined;
      assertUuid(id, "run id");
      encoder.encodeWire({ operation: "post", id, run, projectName });
      // Delete first, so that an id that occurs again moves to the end and the map stays ordered by row number.
      rowNumbersById.delete(id);
      rowNumbersById.set(id, row);
    };
  };

/** A row, and how its id is derived. */
interface IdentifiedRow<Row> {
  readonly idFrom: RowId<Row> | undefined;
  readonly item: Row;
  readonly row: number;
}

/** Returns the id of a row; `undefined` if it is computed from the row's content later. */
function createRowId<Row>(
  identifiedRow: IdentifiedRow<Row>,
  namespace: string,
): string | undefined {
  const key = readRowKey(identifiedRow);
  if (key === undefined) {
    return undefined;
  }
  return isUuid(key) ? key : createIdFromKey(namespace, key);
}

function readRowKey<Row>({
  idFrom = "content",
  item,
  row,
}: IdentifiedRow<Row>): string | undefined {
  if (idFrom === "content") {
    return undefined;
  }
  const key: unknown =
    typeof idFrom === "function" ? idFrom(item, row) : Reflect.get(Object(item), idFrom.key);
  if (key === undefined && typeof idFrom === "function") {
    return undefined;
  }
  if (
    (typeof key !== "string" && typeof key !== "number" && typeof key !== "bigint") ||
    key === ""
  ) {
    const keySource = typeof idFrom === "function" ? "idFrom" : JSON.stringify(idFrom.key);
    throw new ValidationError(
      `The row has no key: ${keySource} must be a non-empty string or a number`,
    );
  }
  return String(key);
}

/**
 * Refuses inputs, outputs and metadata whose JSON might not be an object, such as values with `toJSON`. Also refuses
 * `useSourceRunIo`.
 */
function assertJsonObjects({ inputs, outputs, metadata, useSourceRunIo }: NewExample): void {
  if (useSourceRunIo === true) {
    throw new ValidationError(
      "useSourceRunIo is not supported in uploads: pass inputs, or use createMany",
    );
  }
  for (const [name, value] of Object.entries({ inputs, outputs, metadata })) {
    if (
      value !== undefined &&
      (value instanceof Map || value instanceof Set || "toJSON" in value)
    ) {
      throw new ValidationError(`${name} must be a plain object`);
    }
  }
}

function writeAttachments(fields: RowFields, attachments: NewAttachments): void {
  for (const [name, { mimeType, data }] of Object.entries(attachments)) {
    if (data instanceof Blob) {
      throw new ValidationError(
        `The attachment ${JSON.stringify(name)} is a Blob, but an upload takes only bytes. Pass \`await blob.bytes()\``,
      );
    }
    // The MIME type becomes part of an HTTP header, so check that it contains no control characters.
    if (!/^[\w!#$&^.+-]+\/[\w!#$&^.+;= -]+$/.test(mimeType)) {
      throw new ValidationError(
        `${JSON.stringify(mimeType)} is not a MIME type. Give a type and a subtype, such as image/png`,
      );
    }
    fields.writeAttachment(name, mimeType, new Uint8Array(data));
  }
}
