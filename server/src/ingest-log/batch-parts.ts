import { deserialize } from "node:v8";
import { batchMemory } from "../runs/batch-memory.ts";
import type { AttachmentRecord, PackedBatch, RunBatch, RunRecord } from "../runs/run-record.ts";
import { unpackPost } from "../runs/sqlite/post-rows.ts";
import type { GroupedBatch } from "../runs/sqlite/post-rows.ts";

// Batches are divided into messages, and messages are joined into transactions. A part of a batch is a batch with fewer
// records and the same `bodies`.

/** Restores a batch that a worker thread has serialized for the store. */
export function unpackBatch({ packed, bodies }: PackedBatch): RunBatch {
  const { posts, ...content } = deserialize(packed) as Omit<GroupedBatch, "bodies">;
  const count = posts?.facetIndexes.length ?? 0;
  const records = posts
    ? Array.from({ length: count }, (_, index) => unpackPost(posts, index))
    : [];
  return { ...content, records: [...records, ...content.records], bodies };
}

/** Operations in a batch, as `IngestResult` counts them. */
export const countOperations = ({ records, feedback }: RunBatch): number =>
  records.length + feedback.length;

/**
 * Divides a batch into its smallest parts: a run with its attachments, the attachments of a run that is not in the
 * batch, or one item of feedback. Attachments stay with their run, because the store refuses a file whose run it does
 * not have.
 */
export function divideBatch(batch: RunBatch): readonly RunBatch[] {
  const { records, attachments, feedback, bodies } = batch;
  const filesByRun = new Map<string, AttachmentRecord[]>();
  for (const attachment of attachments) {
    const files = filesByRun.get(attachment.runId);
    if (files === undefined) {
      filesByRun.set(attachment.runId, [attachment]);
    } else {
      files.push(attachment);
    }
  }
  const takeFiles = (runId: string): readonly AttachmentRecord[] => {
    const files = filesByRun.get(runId) ?? [];
    filesByRun.delete(runId);
    return files;
  };
  const empty = { records: [], attachments: [], feedback: [], bodies };
  return [
    ...records.map((record) => ({
      ...empty,
      records: [record],
      attachments: takeFiles(record.id),
    })),
    ...[...filesByRun.values()].map((files) => ({ ...empty, attachments: files })),
    ...feedback.map((draft) => ({ ...empty, feedback: [draft] })),
  ];
}

/** Divides a batch into parts of about `maxBytes`. A part is larger only if it can't be divided. */
export function splitBatch(batch: RunBatch, maxBytes: number): readonly RunBatch[] {
  const parts: RunBatch[] = [];
  let group: RunBatch[] = [];
  let groupBytes = 0;
  for (const unit of divideBatch(batch)) {
    const bytes = estimateBytes(unit);
    if (group.length > 0 && groupBytes + bytes > maxBytes) {
      parts.push(joinParts(group, batch.bodies));
      group = [];
      groupBytes = 0;
    }
    group.push(unit);
    groupBytes += bytes;
  }
  return group.length === 0 ? parts : [...parts, joinParts(group, batch.bodies)];
}

/** Joins parts of one batch, which share its `bodies`. {@link joinBatches} copies the payloads instead. */
export const joinParts = (
  parts: readonly RunBatch[],
  bodies: Uint8Array<ArrayBuffer>,
): RunBatch => ({
  records: parts.flatMap(({ records }) => records),
  attachments: parts.flatMap(({ attachments }) => attachments),
  feedback: parts.flatMap(({ feedback }) => feedback),
  bodies,
});

/**
 * Joins batches into one whose payloads are in memory of its own, which the store may transfer to another thread. The
 * given batches stay as they are.
 */
export function joinBatches(batches: readonly RunBatch[]): RunBatch {
  const totalBytes = batches.reduce((sum, batch) => sum + sumBytes(batch), 0);
  const bodies = batchMemory.acquire(totalBytes).subarray(0, totalBytes);
  let position = 0;
  const move = <Item extends RunRecord | AttachmentRecord>(
    item: Item,
    sourceBytes: Uint8Array,
  ): Item => {
    const bodyStart = position;
    bodies.set(sourceBytes.subarray(item.bodyStart, item.bodyEnd), bodyStart);
    position += item.bodyEnd - item.bodyStart;
    return { ...item, bodyStart, bodyEnd: position };
  };
  return {
    records: batches.flatMap((batch) => batch.records.map((item) => move(item, batch.bodies))),
    attachments: batches.flatMap((batch) =>
      batch.attachments.map((item) => move(item, batch.bodies)),
    ),
    feedback: batches.flatMap(({ feedback }) => feedback),
    bodies,
  };
}

/** Bytes of the payloads and the files to which a batch refers. */
export const sumBytes = ({ records, attachments }: RunBatch): number =>
  [...records, ...attachments].reduce((sum, item) => sum + item.bodyEnd - item.bodyStart, 0);

/** Estimated bytes that the columns and facets of a run take in a message. */
const columnBytes = 1_024;

/** Bytes that a hash takes in a message, with its position. Each long text that payloads may share has a hash. */
const hashBytes = 40;

const countHashes = (texts: RunRecord["shareable"] = []): number =>
  texts.reduce((sum, { hashes }) => sum + hashes.length, 0);

/**
 * Estimates the size of a part as a message. A part that turns out to be too large for a message is stored as an
 * object.
 */
const estimateBytes = (part: RunBatch): number =>
  sumBytes(part) +
  (part.records.length + part.attachments.length) * columnBytes +
  part.records.reduce((sum, { shareable }) => sum + countHashes(shareable) * hashBytes, 0) +
  part.feedback.reduce((sum, draft) => sum + JSON.stringify(draft).length, 0);
