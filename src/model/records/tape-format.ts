/**
 * The bytes of a tape. Written by `tracing/tape-writer`, read by `workers/tape-reader`; both read this file.
 *
 * A tape is records one after another. A record is a head of {@link recordHead} bytes
 * (u32 length of the whole record, u8 operation, u8 outcome, u8 payloads withheld, u8 redaction), then fields. Before a
 * record is delivered, the byte of its withheld payloads is the mark that a worker is writing it.
 * A field is u8 code, u32 length of what follows, then its content: without a tag up to
 * {@link field.endMicros}, tagged values for the others. Numbers are little-endian.
 */
export const recordHead = 8;
export const fieldHead = 5;

/** Where in a record's head its parts are. */
export const headOffset = {
  length: 0,
  operation: 4,
  outcome: 5,
  withheld: 6,
  inHand: 6,
  redaction: 7,
} as const;

/** How far a record is with the rules that mask; from 2 on, the mark of the rules that were applied. */
export const redactionMark = { none: 0, underWay: 1 } as const;

export const operationCode = { post: 1, patch: 2 } as const;

/**
 * What became of a record, and with how many markers in place of payloads: written by the worker into the record's
 * head, read by both sides. `quarantined` is also written by the main thread, when workers died with the record.
 */
export const outcomeCode = { pending: 0, delivered: 1, rejected: 2, quarantined: 3 } as const;

/** Whether a worker is writing the record's JSON now. The mark outlives a thread that crashes, and names the run it crashed on. */
export const inHandCode = { no: 0, yes: 1 } as const;

/** A field's code. A record holds each at most once, those from {@link field.other} on excepted. */
export const field = {
  // raw text
  dottedOrder: 1,
  id: 2,
  // a float64, microseconds since the Unix epoch
  endMicros: 3,
  // tagged values
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
  /** The run's metadata; the worker makes `extra` of it, with the runtime facts. */
  metadata: 18,
  /** A whole `extra`, to which the worker adds the runtime facts. */
  extra: 19,
  /** A whole `extra` that has runtime facts of its own. */
  extraWithRuntime: 20,
  /** A key that the wire does not name: its text as a value, then its value. */
  other: 21,
  /** Name and MIME type, then binary data, or the path of a file as text. Behind all other fields. */
  attachment: 22,
} as const;

/** Codes of the fields that a record holds once are below. */
export const fieldCodes = field.other;

/** The first byte of a tagged value. From {@link tag.shortText} on, the low 7 bits are a text's length. */
export const tag = {
  null: 0,
  false: 1,
  true: 2,
  /** i32 */
  int: 3,
  /** f64 */
  double: 4,
  /** u32 bytes, UTF-8 */
  text: 5,
  /** u32 bytes, UTF-16LE: text that is long and not Latin-1, or not well-formed Unicode */
  wideText: 6,
  /** values until `end` */
  array: 7,
  /** key text and value in turn, until `end` */
  object: 8,
  end: 9,
  /** a text that names the type, then u32 bytes: binary data */
  bytes: 10,
  /** 0x80 | bytes, UTF-8 */
  shortText: 0x80,
} as const;

export const longestShortText = 0x7f;
