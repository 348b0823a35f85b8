import { exchangeWarningsKey } from "../../model/records/exchange.ts";
import type { ExchangeFields, RecordedExchange } from "../../model/records/exchange.ts";
import type { RedactionCounts } from "../../model/records/shipping.ts";
import {
  field,
  fieldHeadBytes,
  headOffset,
  recordHeadBytes,
  redactionState,
  tag,
} from "../../model/records/tape-format.ts";
import type { WithheldCounts } from "../../model/records/tape-format.ts";
import { TapeReader } from "../json/tape-reader.ts";
import type { RecordOutcome } from "../json/tape-reader.ts";
import type { Redactor } from "../redaction/redactor.ts";
import { readExchanges } from "./read-exchanges.ts";
import { RecordWriter } from "./record-writer.ts";
import { readTaggedValue, skipTaggedValue } from "./tagged-values.ts";

/** A tape without exchanges, and the results of redaction. */
export interface ExpandedTape {
  readonly reader: TapeReader;
  readonly redacted?: RedactionCounts;
}

/**
 * Returns a reader of a private copy of a tape, on which each exchange (the recorded bytes of a model call) is replaced
 * by the fields that were read from it. All records of the copy are masked by `redactor`.
 *
 * Outcomes, and marks that identify a record which crashes this thread, are still written to the original tape, where
 * the main thread reads them. While the exchanges of a record are read, the record is marked as being written. While
 * its new fields are masked, its redaction is marked as in progress: if this thread crashes then, the whole record is
 * masked.
 */
export function expandTape(original: TapeReader, redactor?: Redactor): ExpandedTape {
  const redacted = { maskedMatches: 0, failedRecords: 0 };
  const redact = (record: Uint8Array): void => {
    const counts = redactor?.redact(record);
    redacted.maskedMatches += counts?.maskedMatches ?? 0;
    redacted.failedRecords += counts?.failedRecords ?? 0;
  };
  const out = new RecordWriter(original.bytes.length);
  for (let record = 0; record < original.count; record++) {
    const start = original.findHead(record);
    const end = start + original.view.getUint32(start + headOffset.length, true);
    if (original.listExchanges(record).length === 0) {
      redact(original.bytes.subarray(start, end));
      out.writeRaw(original.bytes.subarray(start, end));
      continue;
    }
    const copyStart = out.length;
    original.markBeingWritten([record]);
    expandRecord(out, original, { start, end });
    original.clearBeingWritten([record]);
    if (original.bytes[start + headOffset.redaction] !== redactionState.inProgress) {
      // The rules were applied to the original record, but not to the content of its exchanges. Reset the state, so
      // that the copy is searched again.
      out.bytes[copyStart + headOffset.redaction] = redactionState.none;
    }
    original.bytes[start + headOffset.redaction] = redactionState.inProgress;
    redact(out.bytes.subarray(copyStart, out.length));
    original.bytes[start + headOffset.redaction] = redactionState.none;
  }
  return {
    reader: new ExpandedReader(original, out),
    ...(redactor === undefined ? {} : { redacted }),
  };
}

/** Reads a private copy of a tape. Marks and outcomes, which other threads read, are written to the original. */
class ExpandedReader extends TapeReader {
  readonly #original: TapeReader;

  constructor(original: TapeReader, { bytes, length }: RecordWriter) {
    super(bytes.buffer, length);
    this.#original = original;
  }

  override findOriginalHead(record: number): number {
    return this.#original.findHead(record);
  }

  override markBeingWritten(records: readonly number[]): void {
    this.#original.markBeingWritten(records);
  }

  override clearBeingWritten(records: readonly number[]): void {
    this.#original.clearBeingWritten(records);
  }

  override writeOutcome(record: number, outcome: RecordOutcome): void {
    this.#original.writeOutcome(record, outcome);
  }

  override writeWithheldCounts(record: number, counts: WithheldCounts): void {
    this.#original.writeWithheldCounts(record, counts);
  }
}

/** A range of bytes on a tape, the buffer of recorded runs. */
interface ByteRange {
  readonly start: number;
  readonly end: number;
}

/**
 * A record's own fields, by code. An attachment and a field that the wire format does not define can occur repeatedly.
 */
interface OwnFields {
  readonly byCode: ReadonlyMap<number, ByteRange>;
  readonly others: readonly ByteRange[];
  readonly attachments: readonly ByteRange[];
}

/**
 * Fields that are merged with those of the exchanges. Any other field of the record replaces the same field of the
 * exchanges.
 */
const mergedCodes: ReadonlySet<number> = new Set([field.metadata, field.tags, field.events]);

/** Writes a record in which its exchanges are replaced by the fields that were read from them. */
function expandRecord(out: RecordWriter, original: TapeReader, { start, end }: ByteRange): void {
  const head = original.bytes.subarray(start, start + recordHeadBytes);
  const ownFields = findOwnFields(original, { start: start + recordHeadBytes, end });
  out.beginRecord(head);
  try {
    const exchanges = readExchangeFields(original, { start: start + recordHeadBytes, end });
    writeRecord(out, original, { ownFields, exchangeFields: readExchanges(exchanges) });
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const warning = `The exchange could not be read: ${reason}`;
    out.clearRecord();
    writeRecord(out, original, {
      ownFields,
      exchangeFields: { metadata: { [exchangeWarningsKey]: [warning] } },
    });
  }
  out.endRecord();
}

function* listFields(
  { bytes, view }: TapeReader,
  { start, end }: ByteRange,
): Generator<ByteRange & { readonly code: number }> {
  for (let offset = start; offset < end;) {
    const nextOffset = offset + fieldHeadBytes + view.getUint32(offset + 1, true);
    yield { code: bytes[offset] ?? 0, start: offset, end: nextOffset };
    offset = nextOffset;
  }
}

function findOwnFields(original: TapeReader, range: ByteRange): OwnFields {
  const byCode = new Map<number, ByteRange>();
  const others: ByteRange[] = [];
  const attachments: ByteRange[] = [];
  for (const { code, start, end } of listFields(original, range)) {
    if (code === field.attachment) {
      attachments.push({ start, end });
    } else if (code === field.other) {
      others.push({ start, end });
    } else if (code !== field.exchange) {
      byCode.set(code, { start, end });
    }
  }
  return { byCode, others, attachments };
}

function readExchangeFields(original: TapeReader, range: ByteRange): readonly RecordedExchange[] {
  const exchanges: RecordedExchange[] = [];
  for (const { code, start } of listFields(original, range)) {
    if (code === field.exchange) {
      const { value } = readTaggedValue(original, start + fieldHeadBytes);
      exchanges.push(value as RecordedExchange);
    }
  }
  return exchanges;
}

/** The fields from which a record is written. */
interface RecordContent {
  readonly ownFields: OwnFields;
  readonly exchangeFields: ExchangeFields;
}

function writeRecord(out: RecordWriter, original: TapeReader, content: RecordContent): void {
  const { byCode, others, attachments } = content.ownFields;
  const {
    name,
    runType,
    inputs,
    outputs,
    error,
    tags,
    events,
    extra,
    metadata = {},
  } = content.exchangeFields;
  // A `null` clears the error of an earlier attempt. An error of this attempt replaces that `null`.
  const errorRange = byCode.get(field.error);
  const isErrorReplaced =
    error !== undefined &&
    errorRange !== undefined &&
    original.bytes[errorRange.start + fieldHeadBytes] === tag.null;
  for (const [code, range] of byCode) {
    if (!mergedCodes.has(code) && !(code === field.error && isErrorReplaced)) {
      copyRange(out, original, range);
    }
  }
  const newFields: readonly (readonly [number, unknown])[] = [
    [field.name, name],
    [field.runType, runType],
    [field.inputs, inputs],
    [field.outputs, outputs],
    [field.error, error],
  ];
  for (const [code, value] of newFields) {
    if (value !== undefined && (!byCode.has(code) || (code === field.error && isErrorReplaced))) {
      out.writeField(code, value);
    }
  }
  writeJoinedList(out, original, { code: field.tags, range: byCode.get(field.tags), items: tags });
  const eventsRange = byCode.get(field.events);
  writeJoinedList(out, original, { code: field.events, range: eventsRange, items: events });
  const metadataRange = byCode.get(field.metadata);
  if (extra === undefined) {
    writeMergedMetadata(out, original, { range: metadataRange, metadata });
  } else {
    const ownMetadata =
      metadataRange && readTaggedValue(original, metadataRange.start + fieldHeadBytes).value;
    out.writeField(field.extra, { ...extra, metadata: { ...metadata, ...toMembers(ownMetadata) } });
  }
  for (const range of [...others, ...attachments]) {
    copyRange(out, original, range);
  }
}

const toMembers = (value: unknown): object =>
  typeof value === "object" && value !== null ? value : {};

const copyRange = (out: RecordWriter, original: TapeReader, { start, end }: ByteRange): void =>
  out.writeRaw(original.bytes.subarray(start, end));

/** A list of the record, and the items that exchanges add to it. */
interface JoinedList {
  readonly code: number;
  readonly range: ByteRange | undefined;
  readonly items: readonly unknown[] | undefined;
}

function writeJoinedList(
  out: RecordWriter,
  original: TapeReader,
  { code, range, items = [] }: JoinedList,
): void {
  const isList = range !== undefined && original.bytes[range.start + fieldHeadBytes] === tag.array;
  if (items.length === 0 || (range !== undefined && !isList)) {
    if (range !== undefined) {
      copyRange(out, original, range);
    }
    return;
  }
  const fieldStart = out.beginField(code);
  out.writeTag(tag.array);
  if (range !== undefined) {
    // Leave out the tags that begin and end the list.
    out.writeRaw(original.bytes.subarray(range.start + fieldHeadBytes + 1, range.end - 1));
  }
  for (const item of items) {
    out.writeValue(item);
  }
  out.writeTag(tag.end);
  out.endField(fieldStart);
}

/** The metadata of the record, and the metadata read from its exchanges. */
interface MergedMetadata {
  readonly range: ByteRange | undefined;
  readonly metadata: Readonly<Record<string, unknown>>;
}

/** Writes the metadata of the record and of its exchanges. If a key is in both, the record's value is written. */
function writeMergedMetadata(
  out: RecordWriter,
  original: TapeReader,
  { range, metadata }: MergedMetadata,
): void {
  const isObject =
    range !== undefined && original.bytes[range.start + fieldHeadBytes] === tag.object;
  const ownKeys = isObject ? readKeys(original, range) : new Set();
  const entries = Object.entries(metadata).filter(([key]) => !ownKeys.has(key));
  if (range === undefined && entries.length === 0) {
    return;
  }
  const fieldStart = out.beginField(field.metadata);
  out.writeTag(tag.object);
  if (isObject) {
    out.writeRaw(original.bytes.subarray(range.start + fieldHeadBytes + 1, range.end - 1));
  }
  for (const [key, value] of entries) {
    if (value !== undefined) {
      out.writeText(key);
      out.writeValue(value);
    }
  }
  out.writeTag(tag.end);
  out.endField(fieldStart);
}

function readKeys(original: TapeReader, { start, end }: ByteRange): ReadonlySet<unknown> {
  const keys = new Set<unknown>();
  for (let offset = start + fieldHeadBytes + 1; offset < end - 1;) {
    const key = readTaggedValue(original, offset);
    keys.add(key.value);
    offset = skipTaggedValue(original, key.end);
  }
  return keys;
}
