import { randomUUID } from "node:crypto";
import { ContentMemory } from "../../server/src/runs/ingest/content-memory.ts";
import { MultipartBatch } from "../../server/src/runs/ingest/multipart-batch.ts";
import { MultipartParser } from "../../server/src/bodies/multipart-parser.ts";
import { microsToStamp } from "../../src/model/dotted-order.ts";
import type { WirePatch } from "../../src/model/run.ts";
import { contentTypes } from "../../src/workers/sinks/frame.ts";
import { JsonWriter } from "../../src/workers/json/json-writer.ts";
import type { ContentDraft } from "../../src/workers/json/content-deduplication.ts";
import type { TapeBatch } from "../../src/workers/sinks/tape-batch.ts";
import { batchOf } from "./run-batch.ts";

const boundary = contentTypes.multipart.split("boundary=")[1] ?? "";
const stamp = microsToStamp(1_800_000_000_000_000);

/** A batch of runs of one trace, each with the id of its place in it. */
export const batchOfTrace = (traceId: string, runs: readonly WirePatch[]): TapeBatch =>
  batchOf(
    runs.map((run) => {
      const id = randomUUID();
      return { id, run: { ...run, dotted_order: `${stamp}${traceId}.${stamp}${id}` } };
    }),
  );

/** The body of the request of a batch; in pieces where there is a draft. */
export function bodyOf(batch: TapeBatch, draft?: ContentDraft): Buffer {
  const out = new JsonWriter(Buffer.alloc(64));
  batch.frame(out, "multipart", draft);
  return out.bytes.subarray(0, out.length);
}

export interface Received {
  /** What is stored of each run that was taken, by its id. */
  readonly payloads: ReadonlyMap<string, string>;
  /** Why the others were not. */
  readonly reasons: ReadonlyMap<string, string>;
}

/** What the server makes of a body. */
export function receive(body: Buffer, content = new ContentMemory(), tenantId = "t"): Received {
  const collected = new MultipartBatch(undefined, { content, tenantId });
  const parser = new MultipartParser(boundary, (part) => collected.add(part));
  parser.push(body);
  parser.end();
  const { batch, rejected } = collected.build();
  const text = Buffer.from(batch.bodies);
  return {
    payloads: new Map(
      batch.records.map((one) => [one.id, text.toString("utf8", one.bodyStart, one.bodyEnd)]),
    ),
    reasons: new Map(rejected.map(({ id, reason }) => [id ?? "", reason])),
  };
}
