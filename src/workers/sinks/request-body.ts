import { randomBytes } from "node:crypto";
import { payloadFields } from "../../model/run.ts";
import type { Operation, PayloadField } from "../../model/run.ts";
import { countDigits, toView } from "../json/ascii.ts";
import { AttachmentParts } from "../json/attachment-parts.ts";
import type { AttachmentInsert } from "../json/attachment-parts.ts";
import type { JsonWriter } from "../json/json-writer.ts";
import type { RunOperation } from "../json/operations.ts";
import type { RunJson } from "../json/run-json.ts";
import { writeBatch, writeRun } from "../json/run-list.ts";
import { chunksType } from "../../model/options/content-deduplication.ts";
import type { ContentDraft } from "../json/content-deduplication.ts";
import { ChunkWriter } from "../json/chunk-writer.ts";
import { formatPartName } from "../wire.ts";
import type { PartName } from "../wire.ts";

/** Format of a request body to a server: multipart, one JSON object with all runs, or a single run. */
export type BodyFormat = "multipart" | "batch" | "single";

/**
 * Boundary between parts. JSON text contains no raw line breaks, so no payload can contain
 * `CRLF--boundary`. An attachment may contain any bytes, which is why the boundary is random.
 */
const boundary = `millrace-${randomBytes(12).toString("hex")}`;

/** Content types of request bodies by their format. */
export const contentTypes: Readonly<Record<BodyFormat, string>> = {
  multipart: `multipart/form-data; boundary=${boundary}`,
  batch: "application/json",
  single: "application/json",
};

const lineEnd = "\r\n";
const closeBrace = 0x7d;
/** Approximate bytes of a run's fields that are not payload fields. */
const estimatedEnvelopeBytes = 400;

const lineEndBytes = toView(lineEnd);
const blankLine = toView(lineEnd + lineEnd);
const lastLine = toView(`--${boundary}--${lineEnd}`);
const formatTypeLine = (type: string): string => `"${lineEnd}Content-Type: ${type}; length=`;

/** The head of a part: its boundary and headers, divided at the run's id, which is written between the two texts. */
interface PartHead {
  readonly textBeforeId: DataView;
  readonly textAfterId: DataView;
}

function createPartHead(
  toPartName: (runId: string) => PartName,
  type = "application/json",
): PartHead {
  const id = "<id>";
  const [textBeforeId = "", textAfterId = ""] = formatPartName(toPartName(id)).split(id);
  return {
    textBeforeId: toView(
      `--${boundary}${lineEnd}Content-Disposition: form-data; name="${textBeforeId}`,
    ),
    textAfterId: toView(textAfterId + formatTypeLine(type)),
  };
}

const createPartHeads = (
  operation: Operation,
): {
  /** Head of the part with all fields that are not payload fields. */
  readonly envelope: PartHead;
  /** For each payload field: the head of a part with plain JSON, and the head of a part with chunks. */
  readonly fields: readonly (readonly [PayloadField, PartHead, PartHead])[];
} => ({
  envelope: createPartHead((runId) => ({ kind: "run", operation, runId })),
  fields: payloadFields.map((field) => {
    const toPartName = (runId: string): PartName => ({ kind: "field", operation, runId, field });
    return [field, createPartHead(toPartName), createPartHead(toPartName, chunksType)];
  }),
});

const partHeads = { post: createPartHeads("post"), patch: createPartHeads("patch") };

/** Writes the request body for `runs`. Returns the attachments that must be inserted into it. */
// oxlint-disable-next-line max-params -- three of them come from the batch; called once per request
export function writeBody(
  out: JsonWriter,
  json: RunJson,
  runs: readonly RunOperation[],
  format: BodyFormat,
  content?: ContentDraft,
): readonly AttachmentInsert[] {
  switch (format) {
    case "multipart":
      return writeMultipart(out, json, runs, content);
    case "batch":
      writeBatch(out, json, runs);
      break;
    case "single":
      for (const run of runs) {
        writeRun(out, json, run);
      }
      break;
  }
  return [];
}

// oxlint-disable-next-line max-params -- called once per request
function writeMultipart(
  out: JsonWriter,
  json: RunJson,
  runs: readonly RunOperation[],
  content: ContentDraft | undefined,
): readonly AttachmentInsert[] {
  const chunks = content === undefined ? undefined : new ChunkWriter(out, content);
  const parts = new PartWriter(out, json, chunks);
  const { wasm } = json;
  wasm?.begin(out, json.reader, runs);
  try {
    for (const run of runs) {
      if (run.hasOnlyAttachments !== true) {
        json.markWhileWriting(run, () => writeRunParts(parts, json, run));
      }
      parts.attachments.writeParts(run);
    }
  } finally {
    wasm?.end();
  }
  out.writeLiteral(lastLine);
  return parts.attachments.inserts;
}

function writeRunParts(parts: PartWriter, json: RunJson, run: RunOperation): void {
  const { out } = parts;
  const { envelope, fields } = partHeads[run.operation];
  const envelopeStart = parts.beginPart(run, envelope, estimatedEnvelopeBytes);
  json.writeEnvelope(out, run);
  out.writeByte(closeBrace);
  parts.endPart(envelopeStart, estimatedEnvelopeBytes);
  const trace = parts.chunks?.findTrace(json, run);
  for (const [field, head, chunksHead] of fields) {
    if (json.hasField(run, field)) {
      const estimate = json.estimateBytes(run, field);
      const bodyStart = parts.beginPart(run, trace === undefined ? head : chunksHead, estimate);
      parts.attachments.extractBinaryFrom(field, json.attachBytesFrom);
      if (trace === undefined) {
        json.writePayload(out, run, field);
      } else {
        parts.chunks?.writePayload(json, run, field, trace);
      }
      parts.endPart(bodyStart, estimate);
    }
  }
}

/**
 * Writes parts. The length of a part precedes its body but is known only afterwards. So an estimate
 * is written first, and corrected if it has a different number of digits.
 */
class PartWriter {
  readonly out: JsonWriter;
  readonly attachments: AttachmentParts;
  /** Writes payloads as chunks; absent if content deduplication is off. */
  readonly chunks: ChunkWriter | undefined;
  readonly #json: RunJson;

  constructor(out: JsonWriter, json: RunJson, chunks: ChunkWriter | undefined) {
    this.chunks = chunks;
    this.attachments = new AttachmentParts(out, boundary);
    this.out = out;
    this.#json = json;
  }

  /**
   * Writes the head of a part, with `estimate` as the length of its body. Returns the position of
   * the body.
   */
  beginPart(run: RunOperation, { textBeforeId, textAfterId }: PartHead, estimate: number): number {
    const { out } = this;
    out.writeLiteral(textBeforeId);
    this.#json.writeId(out, run);
    out.writeLiteral(textAfterId);
    out.writeDigits(estimate);
    out.writeLiteral(blankLine);
    return out.length;
  }

  /** Finishes the part whose body begins at `bodyStart`, and corrects its length. */
  endPart(bodyStart: number, estimate: number): void {
    const { out } = this;
    const bodyBytes = out.length - bodyStart;
    const digits = countDigits(bodyBytes);
    const shift = digits - countDigits(estimate);
    if (shift !== 0) {
      out.ensureCapacity(Math.max(shift, 0));
      out.bytes.copyWithin(
        bodyStart + shift - blankLine.byteLength,
        bodyStart - blankLine.byteLength,
        out.length,
      );
      out.length += shift;
    }
    out.overwriteDigits(bodyStart + shift - blankLine.byteLength, bodyBytes, digits);
    out.writeLiteral(lineEndBytes);
  }
}

/** Keeps the output buffers of requests for reuse: a fresh megabyte costs 256 page faults. */
export class BodyBuffers {
  readonly #limitBytes: number;
  #freeBytes = 0;
  readonly #freeBuffers: Buffer[] = [];

  /** Keeps at most `limitBytes` of unused buffers. */
  constructor(limitBytes: number) {
    this.#limitBytes = limitBytes;
  }

  /** Returns a buffer of at least `size` bytes with undefined content. */
  take(size: number): Buffer {
    const index = this.#freeBuffers.findIndex((buffer) => buffer.length >= size);
    const [reusedBuffer] = index === -1 ? [] : this.#freeBuffers.splice(index, 1);
    if (reusedBuffer === undefined) {
      return Buffer.allocUnsafeSlow(Math.max(65_536, size));
    }
    this.#freeBytes -= reusedBuffer.length;
    return reusedBuffer;
  }

  /** Takes back a buffer, to be reused for a later request. */
  release(buffer: Buffer): void {
    if (this.#freeBytes + buffer.length <= this.#limitBytes) {
      this.#freeBuffers.push(buffer);
      this.#freeBytes += buffer.length;
    }
  }
}
