import { randomBytes } from "node:crypto";
import { payloadFields } from "../../model/run.ts";
import type { Operation, PayloadField } from "../../model/run.ts";
import { countDigits, literal } from "../json/ascii.ts";
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

/** How the runs of a request are written: parts, one JSON object, or one run alone. */
export type FrameFormat = "multipart" | "batch" | "single";

/**
 * Between parts. JSON text holds no raw line end, so no payload can hold `CRLF--boundary`; an attachment
 * may hold anything, and so it is random.
 */
const boundary = `millrace-${randomBytes(12).toString("hex")}`;

export const contentTypes: Readonly<Record<FrameFormat, string>> = {
  multipart: `multipart/form-data; boundary=${boundary}`,
  batch: "application/json",
  single: "application/json",
};

const lineEnd = "\r\n";
const closeBrace = 0x7d;
/** About the bytes of a run's fields that are no payload. */
const envelopeEstimate = 400;

const lineEndBytes = literal(lineEnd);
const blankLine = literal(lineEnd + lineEnd);
const lastLine = literal(`--${boundary}--${lineEnd}`);
const typeLine = (type: string): string => `"${lineEnd}Content-Type: ${type}; length=`;

/** The head of a part, around the run's id. */
interface PartHead {
  readonly before: DataView;
  readonly after: DataView;
}

function partHead(nameOf: (runId: string) => PartName, type = "application/json"): PartHead {
  const id = "<id>";
  const [before = "", after = ""] = formatPartName(nameOf(id)).split(id);
  return {
    before: literal(`--${boundary}${lineEnd}Content-Disposition: form-data; name="${before}`),
    after: literal(after + typeLine(type)),
  };
}

const headsOf = (
  operation: Operation,
): {
  readonly whole: PartHead;
  /** Of a field as it is, and of one in pieces. */
  readonly fields: readonly (readonly [PayloadField, PartHead, PartHead])[];
} => ({
  whole: partHead((runId) => ({ kind: "run", operation, runId })),
  fields: payloadFields.map((field) => {
    const nameOf = (runId: string): PartName => ({ kind: "field", operation, runId, field });
    return [field, partHead(nameOf), partHead(nameOf, chunksType)];
  }),
});

const heads = { post: headsOf("post"), patch: headsOf("patch") };

/** Writes the body of a request for these runs; answers the attachments that belong into it. */
// oxlint-disable-next-line max-params -- three of them are what a batch holds; one call makes each request
export function frameRuns(
  out: JsonWriter,
  json: RunJson,
  runs: readonly RunOperation[],
  format: FrameFormat,
  content?: ContentDraft,
): readonly AttachmentInsert[] {
  switch (format) {
    case "multipart":
      return multipart(out, json, runs, content);
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

// oxlint-disable-next-line max-params -- as above
function multipart(
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
      if (run.attachmentsOnly !== true) {
        json.markWhileWriting(run, () => runParts(parts, json, run));
      }
      parts.attachments.writeParts(run);
    }
  } finally {
    wasm?.end();
  }
  out.literal(lastLine);
  return parts.attachments.inserts;
}

function runParts(parts: PartWriter, json: RunJson, run: RunOperation): void {
  const { out } = parts;
  const { whole, fields } = heads[run.operation];
  const envelopeAt = parts.begin(run, whole, envelopeEstimate);
  json.envelope(out, run);
  out.byte(closeBrace);
  parts.end(envelopeAt, envelopeEstimate);
  const trace = parts.chunks?.findTrace(json, run);
  for (const [field, head, headOfPieces] of fields) {
    if (json.has(run, field)) {
      const estimate = json.estimate(run, field);
      const bodyAt = parts.begin(run, trace === undefined ? head : headOfPieces, estimate);
      parts.attachments.extractFrom(field, json.attachBytesFrom);
      if (trace === undefined) {
        json.payload(out, run, field);
      } else {
        parts.chunks?.writePayload(json, run, field, trace);
      }
      parts.end(bodyAt, estimate);
    }
  }
}

/** Writes parts. A part's length stands before it and is known after it: its digits are guessed, and mended. */
class PartWriter {
  readonly out: JsonWriter;
  readonly attachments: AttachmentParts;
  /** Where payloads go in pieces. */
  readonly chunks: ChunkWriter | undefined;
  readonly #json: RunJson;

  constructor(out: JsonWriter, json: RunJson, pieces: ChunkWriter | undefined) {
    this.chunks = pieces;
    this.attachments = new AttachmentParts(out, boundary);
    this.out = out;
    this.#json = json;
  }

  /** Writes a part up to its body, which is guessed to be as long as `estimate`; returns where it begins. */
  begin(run: RunOperation, { before, after }: PartHead, estimate: number): number {
    const { out } = this;
    out.literal(before);
    this.#json.id(out, run);
    out.literal(after);
    out.digits(estimate);
    out.literal(blankLine);
    return out.length;
  }

  /** Ends the part whose body began at `bodyAt`. */
  end(bodyAt: number, estimate: number): void {
    const { out } = this;
    const size = out.length - bodyAt;
    const digits = countDigits(size);
    const shift = digits - countDigits(estimate);
    if (shift !== 0) {
      out.ensureCapacity(Math.max(shift, 0));
      out.bytes.copyWithin(
        bodyAt + shift - blankLine.byteLength,
        bodyAt - blankLine.byteLength,
        out.length,
      );
      out.length += shift;
    }
    out.digitsBefore(bodyAt + shift - blankLine.byteLength, size, digits);
    out.literal(lineEndBytes);
  }
}

/** Keeps the output buffers of requests for reuse: a fresh megabyte costs 256 page faults. */
export class FrameBuffers {
  readonly #limitBytes: number;
  #freeBytes = 0;
  readonly #free: Buffer[] = [];

  /** Keeps at most `limitBytes` of unused buffers. */
  constructor(limitBytes: number) {
    this.#limitBytes = limitBytes;
  }

  /** A buffer of at least `size` bytes, its content undefined. */
  take(size: number): Buffer {
    const index = this.#free.findIndex((buffer) => buffer.length >= size);
    const [found] = index === -1 ? [] : this.#free.splice(index, 1);
    if (found === undefined) {
      return Buffer.allocUnsafeSlow(Math.max(65_536, size));
    }
    this.#freeBytes -= found.length;
    return found;
  }

  give(buffer: Buffer): void {
    if (this.#freeBytes + buffer.length <= this.#limitBytes) {
      this.#free.push(buffer);
      this.#freeBytes += buffer.length;
    }
  }
}
