import { checkNew, exampleKeys } from "../api/datasets/example-wire.ts";
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
import { idOfKey } from "./row-id.ts";
import { RowFields } from "./row-writer.ts";
import type { EncodeRow } from "./row-writer.ts";

/** What makes an encoder of rows on the tapes of a writer. */
export type EncoderOn = (out: TapeWriter) => EncodeRow;

/** The namespace of ids of judgements, of which no dataset is: RFC 9562, appendix C (OID). */
const feedbackPlace = "6ba7b812-9dad-11d1-80b4-00c04fd430c8";

/** Examples of a dataset. */
export const examplesOn =
  <Row>({ toExample, idFrom }: UploadExamples<Row>, datasetId: string): EncoderOn =>
  (out) => {
    const fields = new RowFields(out);
    return (item, row) => {
      const given = item as Row;
      const example = checkNew(
        toExample === undefined
          ? (rowWithoutKey(item, idFrom, exampleKeys) as NewExample)
          : toExample(given, row),
      );
      assertJsonObjects(example);
      fields.begin();
      fields.double(rowField.row, row);
      fields.raw(rowField.id, example.id ?? rowIdOf({ idFrom, item: given, row }, datasetId));
      fields.value(rowField.inputs, example.inputs);
      fields.value(rowField.outputs, example.outputs);
      fields.value(rowField.metadata, example.metadata);
      fields.value(rowField.split, example.split);
      fields.value(rowField.createdAt, toIsoTime(example.createdAt, "createdAt"));
      fields.value(rowField.sourceRunId, example.sourceRunId);
      writeAttachments(fields, example.attachments ?? {});
    };
  };

/**
 * What a row itself stands for, without its key where that is a member of its own: `id` is one then too,
 * which need not be a UUID.
 */
function rowWithoutKey<Row>(item: unknown, idFrom: RowId<Row> | undefined, known: object): unknown {
  const key = typeof idFrom === "object" ? idFrom.key : undefined;
  if (typeof item !== "object" || key === undefined || (key !== "id" && key in known)) {
    return item;
  }
  const { [key]: _key, ...others } = item as Readonly<Record<string, unknown>>;
  return others;
}

/** Judgements. */
export const feedbackOn =
  <Row>({ toFeedback, idFrom }: UploadFeedback<Row>): EncoderOn =>
  (out) => {
    const fields = new RowFields(out);
    return (item, row) => {
      const given = item as Row;
      const feedback =
        toFeedback === undefined
          ? (rowWithoutKey(item, idFrom, feedbackKeys) as CreateFeedback)
          : toFeedback(given, row);
      checkValue(feedback, feedbackKeys, { call: "feedback.upload", path: "" });
      const key = keyOfRow({ idFrom, item: given, row }) ?? `content:${JSON.stringify(feedback)}`;
      const id = feedback.id ?? idOfKey(feedbackPlace, key);
      fields.begin();
      fields.double(rowField.row, row);
      fields.raw(rowField.id, id);
      fields.value(rowField.body, toWireFeedback({ ...feedback, id }));
    };
  };

function refuse(message: string): never {
  throw new ValidationError(message);
}

/** What runs are written with. */
export interface RunsSetting {
  readonly filters: FilterOptions;
  /** Bytes of one attachment, at most. */
  readonly attachmentBytes: number;
  readonly rowOf: Map<string, number>;
}

/** Runs, as they are. `rowOf` learns which row each id is. */
export const runsOn =
  <Row>(
    { toRun, projectName }: UploadRuns<Row> & { readonly projectName: string },
    { filters, attachmentBytes, rowOf }: RunsSetting,
  ): EncoderOn =>
  (out) => {
    const encoder = new RecordEncoder(out, {
      filters: new PayloadFilters(filters, refuse),
      // What a pipeline brings is data: it opens no file of this machine.
      attachments: {
        attachmentBytes,
        dangerouslyAllowFilesystem: false,
        onLeftOut: refuse,
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
      encoder.wire({ operation: "post", id, run, projectName });
      // At the end, where it was known already too: they stand in the order of the rows.
      rowOf.delete(id);
      rowOf.set(id, row);
    };
  };

interface RowToName<Row> {
  readonly idFrom: RowId<Row> | undefined;
  readonly item: Row;
  readonly row: number;
}

/** `undefined` where the content is to say it. */
function rowIdOf<Row>(name: RowToName<Row>, place: string): string | undefined {
  const key = keyOfRow(name);
  if (key === undefined) {
    return undefined;
  }
  return isUuid(key) ? key : idOfKey(place, key);
}

function keyOfRow<Row>({ idFrom = "content", item, row }: RowToName<Row>): string | undefined {
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
    const what = typeof idFrom === "function" ? "idFrom" : JSON.stringify(idFrom.key);
    throw new ValidationError(`The row has no key: ${what} must be a text or a number, not empty`);
  }
  return String(key);
}

/** Refuses values whose JSON is not an object: `toJSON` may return something else. */
function assertJsonObjects({ inputs, outputs, metadata, useSourceRunIo }: NewExample): void {
  if (useSourceRunIo === true) {
    throw new ValidationError("useSourceRunIo is for createMany: an upload brings its own inputs");
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
        `The attachment ${JSON.stringify(name)} is a Blob, and an upload takes bytes: await its bytes() first`,
      );
    }
    // It goes into a header.
    if (!/^[\w!#$&^.+-]+\/[\w!#$&^.+;= -]+$/.test(mimeType)) {
      throw new ValidationError(
        `${JSON.stringify(mimeType)} is not a MIME type, such as image/png`,
      );
    }
    fields.attachment(name, mimeType, new Uint8Array(data));
  }
}
