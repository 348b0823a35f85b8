import type { AttachmentRecord, RunBatch, RunRecord } from "../runs/run-record.ts";
import type { FeedbackDraft } from "../runs/run-feedback.ts";

// The messages of the ingest log. A writer reads messages of its own version and of the version before; a server writes
// messages of its own version only. Update the writers first, then the servers. The bytes of a message are:
//
//   byte 0      the version
//   byte 1      the kind: 1 is a batch, 2 is a reference to an object that contains a batch in this format
//   a batch     bytes 2 to 5: the size of the head, a 32-bit number, low byte first
//               the head: JSON in UTF-8
//               the payloads of the records and the files, in their order, without gaps
//   a reference JSON in UTF-8
//
// The head contains values by name, not by position, so that a member can be added without a new version. A new version
// is needed if an older reader would store something wrong.

const currentVersion = 1;
/**
 * The highest possible version. The first byte of a text is higher, so a text is never taken for a message of a later
 * version.
 */
const versionMax = 31;
const batchKind = 1;
const referenceKind = 2;
const prefixBytes = 6;

/** What a message contains. */
export type LogMessage =
  | { readonly kind: "batch"; readonly tenantId: string; readonly batch: RunBatch }
  | ObjectReference;

/** A message whose batch is an object, because it is too large for a message. */
export interface ObjectReference {
  readonly kind: "reference";
  readonly tenantId: string;
  readonly object: string;
}

/** Thrown for a message that can't be read. */
export class MessageError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "MessageError";
  }
}

/** A record as the head contains it. The position of its payload follows from the sizes of the payloads before it. */
type RecordHead = Omit<RunRecord, "bodyStart" | "bodyEnd" | "facets"> & {
  readonly facets: number;
  readonly bytes: number;
};
type FileHead = Omit<AttachmentRecord, "bodyStart" | "bodyEnd"> & { readonly bytes: number };

interface BatchHead {
  readonly tenant: string;
  /**
   * Lists of facets, which are values that filters search. A record contains the index of its list, because many runs
   * have the same one.
   */
  readonly facets: readonly (readonly string[])[];
  readonly records: readonly RecordHead[];
  readonly files: readonly FileHead[];
  readonly feedback: readonly FeedbackDraft[];
}

/** Writes a batch as a message. */
export function encodeBatch(tenantId: string, batch: RunBatch): Uint8Array<ArrayBuffer> {
  const { records, attachments, feedback, bodies } = batch;
  const facetIndexes = new Map<readonly string[], number>();
  const head: BatchHead = {
    tenant: tenantId,
    records: records.map(({ bodyStart, bodyEnd, facets, ...record }) => {
      const index = facetIndexes.get(facets) ?? facetIndexes.size;
      facetIndexes.set(facets, index);
      return { ...record, facets: index, bytes: bodyEnd - bodyStart };
    }),
    facets: [...facetIndexes.keys()],
    files: attachments.map(({ bodyStart, bodyEnd, ...file }) => ({
      ...file,
      bytes: bodyEnd - bodyStart,
    })),
    feedback,
  };
  const json = Buffer.from(JSON.stringify(head));
  const items = [...records, ...attachments];
  const payloadBytes = items.reduce((sum, item) => sum + item.bodyEnd - item.bodyStart, 0);
  const message = Buffer.allocUnsafeSlow(prefixBytes + json.length + payloadBytes);
  message.writeUInt8(currentVersion, 0);
  message.writeUInt8(batchKind, 1);
  message.writeUInt32LE(json.length, 2);
  message.set(json, prefixBytes);
  let position = prefixBytes + json.length;
  for (const { bodyStart, bodyEnd } of items) {
    message.set(bodies.subarray(bodyStart, bodyEnd), position);
    position += bodyEnd - bodyStart;
  }
  return message;
}

/** Writes a message that refers to an object. */
export const encodeReference = (tenantId: string, object: string): Uint8Array<ArrayBuffer> =>
  Buffer.concat([
    Buffer.from([currentVersion, referenceKind]),
    Buffer.from(JSON.stringify({ tenant: tenantId, object })),
  ]);

/**
 * Reads a message. The payloads of a batch stay in the memory of the message.
 *
 * @throws MessageError it is not a message, it is damaged, or a newer version has written it.
 */
export function decodeMessage(bytes: Uint8Array): LogMessage {
  const message = Buffer.from(bytes.buffer as ArrayBuffer, bytes.byteOffset, bytes.byteLength);
  const [version = 0, kind] = message;
  if (version > currentVersion && version <= versionMax) {
    throw new MessageError(
      `the message has version ${version}, and this writer reads up to ${currentVersion}: update the writers, then replay it`,
    );
  }
  if (version !== currentVersion || (kind !== batchKind && kind !== referenceKind)) {
    throw new MessageError("the message is not one of this log");
  }
  return kind === batchKind ? decodeBatch(message) : decodeReference(message);
}

function decodeReference(message: Buffer): ObjectReference {
  const head = parseJson(message.subarray(2));
  const [tenantId, object] = [readText(head, "tenant"), readText(head, "object")];
  return { kind: "reference", tenantId, object };
}

function decodeBatch(message: Buffer<ArrayBuffer>): LogMessage {
  const headBytes = message.length < prefixBytes ? 0 : message.readUInt32LE(2);
  const payloadStart = prefixBytes + headBytes;
  if (headBytes === 0 || payloadStart > message.length) {
    throw new MessageError("the message is shorter than its head says");
  }
  const head = parseJson(message.subarray(prefixBytes, payloadStart));
  const tenantId = readText(head, "tenant");
  const { records, files, facets, feedback } = parseBatchHead(head);
  let position = payloadStart;
  const takeRange = (bytes: unknown): { readonly bodyStart: number; readonly bodyEnd: number } => {
    const bodyStart = position;
    if (typeof bytes !== "number" || !Number.isInteger(bytes) || bytes < 0) {
      throw new MessageError("the message gives a size that is not a whole number");
    }
    position += bytes;
    return { bodyStart, bodyEnd: position };
  };
  const batch: RunBatch = {
    records: records.map(({ bytes, facets: index, ...record }) => ({
      ...record,
      facets: facets[index] ?? [],
      ...takeRange(bytes),
    })),
    attachments: files.map(({ bytes, ...file }) => ({ ...file, ...takeRange(bytes) })),
    feedback,
    bodies: message,
  };
  if (position !== message.length) {
    throw new MessageError("the message does not have the size that its head says");
  }
  return { kind: "batch", tenantId, batch };
}

type JsonMembers = Readonly<Record<string, unknown>>;

/** Checks the outline of a head. A Millrace server has written the head, so the values in it are not checked. */
function parseBatchHead(head: JsonMembers): BatchHead {
  const lists = [head["records"], head["files"], head["facets"], head["feedback"]];
  const areRecords = lists.every(
    (list) =>
      Array.isArray(list) && list.every((item) => typeof item === "object" && item !== null),
  );
  if (!areRecords) {
    throw new MessageError("the head of the message is not one of a batch");
  }
  return head as unknown as BatchHead;
}

function parseJson(bytes: Buffer): JsonMembers {
  let value: unknown;
  try {
    value = JSON.parse(bytes.toString("utf8"));
  } catch {
    // The error of JSON.parse quotes the text, which may be part of a payload.
    throw new MessageError("the head of the message is not JSON");
  }
  if (typeof value !== "object" || value === null) {
    throw new MessageError("the head of the message is not an object");
  }
  return value as JsonMembers;
}

function readText(head: JsonMembers, name: string): string {
  const value = head[name];
  if (typeof value !== "string" || value === "") {
    throw new MessageError(`the head of the message has no ${name}`);
  }
  return value;
}
