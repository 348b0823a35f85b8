/**
 * Byte format of a tape, the buffer of recorded runs. Written by `tracing/tape` and read by
 * `workers/json/tape-reader.ts`; both use the constants of this file.
 *
 * A tape is a sequence of records. A record is the start or end of a run. It consists of a head of {@link
 * recordHeadBytes} bytes (u32 length of the whole record, u8 operation, u8 outcome, u8 {@link packWithheld | numbers
 * of withheld payloads and attachments}, u8 redaction) and fields. Until the record is delivered, the byte for withheld
 * payloads shows instead whether a worker is writing the record's JSON.
 *
 * A field is a u8 code, a u32 length of its content, and the content. The content of fields up to {@link
 * field.endMicros} is raw data, and the content of all others is a tagged value (see {@link tag}). Numbers are
 * little-endian.
 */
export const recordHeadBytes = 8;
/** Length of a field's head: its code and the length of its content. */
export const fieldHeadBytes = 5;

/** Offsets in a record's head, the fixed bytes at the record's start. */
export const headOffset = {
  length: 0,
  operation: 4,
  outcome: 5,
  withheld: 6,
  /**
   * Shares its byte with `withheld`, which is set only when a record is delivered. Until then the byte contains a
   * {@link writingCode}: whether a worker is writing the record.
   */
  beingWritten: 6,
  redaction: 7,
} as const;

/** How many parts of a delivered run were replaced by markers, texts that say what is missing. */
export interface WithheldCounts {
  /** At most one for each payload field. */
  readonly payloads: number;
  readonly attachments: number;
}

/**
 * Number of low bits of the byte {@link headOffset.withheld} that contain the number of attachments. The other bits
 * contain the number of payloads.
 */
const attachmentBits = 5;
const maxWithheldAttachments = 2 ** attachmentBits - 1;

/**
 * Combines the two numbers into one byte. A number of attachments that is too large is stored as the largest possible.
 */
export const packWithheld = ({ payloads, attachments }: WithheldCounts): number =>
  (payloads << attachmentBits) | Math.min(attachments, maxWithheldAttachments);

/** Reverses {@link packWithheld}. */
export const unpackWithheld = (packed: number): WithheldCounts => ({
  payloads: packed >>> attachmentBits,
  attachments: packed & maxWithheldAttachments,
});

/** Redaction state of a record. Values from 2 on identify the rules that were applied. */
export const redactionState = { none: 0, inProgress: 1 } as const;

/** Whether a record is a run's start or a later record of the run. */
export const operationCode = { post: 1, patch: 2 } as const;

/**
 * Outcome of a record: whether it was delivered. The worker writes it into the record's head; the worker and the main
 * thread read it. The main thread also writes `quarantined`, if workers crashed while they wrote the record's JSON.
 */
export const outcomeCode = { pending: 0, delivered: 1, rejected: 2, quarantined: 3 } as const;

/**
 * Whether a worker is writing the record's JSON now. If the worker crashes, the mark remains and
 * identifies the run that caused the crash.
 */
export const writingCode = { no: 0, yes: 1 } as const;

/**
 * Field codes. A record contains each field at most once, except those from {@link field.other} on.
 */
export const field = {
  // The content of these fields is ASCII text.
  dottedOrder: 1,
  id: 2,
  // The content is a 64-bit float: microseconds since the Unix epoch.
  endMicros: 3,
  // The content of all other fields is a tagged value.
  name: 4,
  runType: 5,
  project: 6,
  projectId: 7,
  parentRunId: 8,
  startTime: 9,
  endTime: 10,
  tags: 11,
  referenceExampleId: 12,
  inputs: 13,
  outputs: 14,
  events: 15,
  error: 16,
  serialized: 17,
  /**
   * The run's metadata. The worker creates `extra` from it and from the runtime facts (names and versions of SDK and
   * runtime).
   */
  metadata: 18,
  /** A complete `extra`, to which the worker adds the runtime facts. */
  extra: 19,
  /** A complete `extra` that already has runtime facts. */
  extraWithRuntime: 20,
  /** A member of the run that the wire format does not define: its key as a text value, then its value. */
  other: 21,
  /**
   * Name and MIME type, then binary data or, as text, the path of a file. Attachments come after
   * all other fields.
   */
  attachment: 22,
  /**
   * A `RecordedExchange` (exchange.ts), as an object: the request or response of a call of a remote API, as raw bytes.
   * Before a worker writes the record's JSON, it replaces this field by the run's fields that it parses from the bytes.
   */
  exchange: 23,
} as const;

/** Fields that a record contains at most once have codes below this number. */
export const singleFieldCodeLimit = field.other;

/** The first byte of a tagged value. From {@link tag.shortText} on, the low 7 bits are a text's length. */
export const tag = {
  null: 0,
  false: 1,
  true: 2,
  /** A number, as a signed 32-bit integer. */
  int: 3,
  /** A number, as a 64-bit float. */
  double: 4,
  /** A text: its length in bytes (u32), then the text in UTF-8. */
  text: 5,
  /** As `text`, but in UTF-16LE: for text that is long and not Latin-1, or not well-formed Unicode. */
  wideText: 6,
  /** An array: its values, then the tag `end`. */
  array: 7,
  /** An object: a text for each key, followed by the key's value; then the tag `end`. */
  object: 8,
  end: 9,
  /** Binary data: a text with its type, a u32 length, and the bytes. */
  bytes: 10,
  /** A text of at most 127 bytes in UTF-8. Its length is added to the tag. */
  shortText: 0x80,
} as const;

/** Maximum length of a `shortText`, in bytes. */
export const longestShortText = 0x7f;
