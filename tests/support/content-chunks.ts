import { randomUUID } from "node:crypto";
import { ContentCache } from "../../server/src/runs/ingest/content-cache.ts";
import { MultipartBatch } from "../../server/src/runs/ingest/multipart-batch.ts";
import { MultipartParser } from "../../server/src/bodies/multipart-parser.ts";
import { microsToStamp } from "../../src/model/dotted-order.ts";
import type { WirePatch } from "../../src/model/run.ts";
import { contentTypes } from "../../src/workers/sinks/request-body.ts";
import { JsonWriter } from "../../src/workers/json/json-writer.ts";
import type { ContentDraft } from "../../src/workers/json/content-deduplication.ts";
import type { TapeBatch } from "../../src/workers/sinks/tape-batch.ts";
import { batchOf } from "./run-batch.ts";

const boundary = contentTypes.multipart.split("boundary=")[1] ?? "";
const stamp = microsToStamp(1_800_000_000_000_000);

/** A batch of runs of one trace, each with a new id and a dotted order below the trace's root. */
export const batchOfTrace = (traceId: string, runs: readonly WirePatch[]): TapeBatch =>
  batchOf(
    runs.map((run) => {
      const id = randomUUID();
      return { id, run: { ...run, dotted_order: `${stamp}${traceId}.${stamp}${id}` } };
    }),
  );

/** The multipart body of a batch; with a draft, repeated content is sent as chunks. */
export function bodyOf(batch: TapeBatch, draft?: ContentDraft): Buffer {
  const out = new JsonWriter(Buffer.alloc(64));
  batch.writeBody(out, "multipart", draft);
  return out.bytes.subarray(0, out.length);
}

export interface ReceivedRuns {
  /** The stored payload of each accepted run, by its id. */
  readonly payloads: ReadonlyMap<string, string>;
  /** The reason for each rejected run, by its id. */
  readonly reasons: ReadonlyMap<string, string>;
}

/** Parses a body as the server does. */
export function receiveBody(
  body: Buffer,
  content = new ContentCache(),
  tenantId = "t",
): ReceivedRuns {
  const collector = new MultipartBatch(undefined, { content, tenantId });
  const parser = new MultipartParser(boundary, (part) => collector.add(part));
  parser.push(body);
  parser.end();
  const { batch, rejected } = collector.build();
  const text = Buffer.from(batch.bodies);
  return {
    payloads: new Map(
      batch.records.map((one) => [one.id, text.toString("utf8", one.bodyStart, one.bodyEnd)]),
    ),
    reasons: new Map(rejected.map(({ id, reason }) => [id ?? "", reason])),
  };
}
