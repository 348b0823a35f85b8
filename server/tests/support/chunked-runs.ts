import {
  chunkCode,
  chunksType,
  emptyListDigest,
  listDigest,
  minRememberedBytes,
  textDigest,
} from "millrace/model";
import { ContentCache } from "../../src/runs/ingest/content-cache.ts";
import { MultipartBatch } from "../../src/runs/ingest/multipart-batch.ts";
import type { RunBatch } from "../../src/runs/run-record.ts";
import type { WireObject } from "./store-fixture.ts";

export function textChunk(code: number, text: Uint8Array | string): Buffer {
  const bytes = Buffer.from(text);
  const head = Buffer.alloc(5);
  head.writeUInt8(code, 0);
  head.writeUInt32LE(bytes.length, 1);
  return Buffer.concat([head, bytes]);
}

const digestChunk = (code: number, digest: string): Buffer =>
  Buffer.concat([Buffer.from([code]), Buffer.from(digest, "latin1")]);

/** An operation on a run. The members that are objects are sent in chunks. */
export interface ChunkedOperation {
  readonly operation?: "post" | "patch";
  readonly run: WireObject;
  /** Chunks of fields that the test has written itself. */
  readonly chunks?: Readonly<Record<string, readonly Buffer[]>>;
}

/** Writes batches in chunks, as a client with content deduplication does, and reads them as the server does. */
export class ChunkedSender {
  readonly #tenantId: string;
  readonly #content = new ContentCache();
  readonly #known = new Map<string, Set<string>>();

  constructor(tenantId: string) {
    this.#tenantId = tenantId;
  }

  createBatch(operations: readonly ChunkedOperation[]): RunBatch {
    const batch = new MultipartBatch(undefined, {
      content: this.#content,
      tenantId: this.#tenantId,
    });
    for (const { operation = "post", run, chunks = {} } of operations) {
      const name = `${operation}.${String(run["id"])}`;
      const members = Object.entries(run);
      const isField = ([, value]: readonly [string, unknown]): boolean =>
        typeof value === "object" && value !== null && !Array.isArray(value);
      const main = Object.fromEntries(members.filter((member) => !isField(member)));
      const add = (partName: string, contentType: string, bytes: Buffer): void =>
        batch.add({ name: partName, contentType, bytes, fault: undefined });
      add(name, "application/json", Buffer.from(JSON.stringify(main)));
      const fields = members
        .filter(isField)
        .map(([field, value]) => [field, this.#encode(String(run["trace_id"]), value)] as const);
      for (const [field, list] of [...fields, ...Object.entries(chunks)]) {
        add(`${name}.${field}`, chunksType, Buffer.concat(list));
      }
    }
    const { batch: built, rejected } = batch.build();
    if (rejected.length > 0) {
      throw new Error(rejected.map(({ reason }) => reason).join("; "));
    }
    return built;
  }

  #encode(traceId: string, value: unknown): Buffer[] {
    const known = this.#known.get(traceId) ?? new Set();
    this.#known.set(traceId, known);
    const chunks: Buffer[] = [textChunk(chunkCode.text, "{")];
    Object.entries(value as object).forEach(([name, member], index) => {
      const prefix = `${index === 0 ? "" : ","}${JSON.stringify(name)}:`;
      chunks.push(textChunk(chunkCode.text, prefix));
      chunks.push(
        ...(Array.isArray(member) ? encodeList(member, known) : encodeText(member, known)),
      );
    });
    return [...chunks, textChunk(chunkCode.text, "}")];
  }
}

function encodeText(value: unknown, known: Set<string>): Buffer[] {
  const bytes = Buffer.from(JSON.stringify(value));
  const digest = textDigest(bytes);
  if (known.has(digest)) {
    return [digestChunk(chunkCode.reference, digest)];
  }
  if (bytes.length < minRememberedBytes) {
    return [textChunk(chunkCode.text, bytes)];
  }
  known.add(digest);
  return [textChunk(chunkCode.remembered, bytes)];
}

/** Names the longest beginning of the list that was sent before, and sends the other items. */
function encodeList(list: readonly unknown[], known: Set<string>): Buffer[] {
  let digest = emptyListDigest;
  const items = list.map((item) => {
    const bytes = Buffer.from(JSON.stringify(item));
    const itemDigest = textDigest(bytes);
    digest = listDigest(digest, itemDigest);
    return { bytes, itemDigest, digest };
  });
  const base = items.findLast((item) => known.has(item.digest));
  const sent = items.slice(base === undefined ? 0 : items.indexOf(base) + 1);
  const chunks = sent.map(({ bytes, itemDigest }) => {
    if (known.has(itemDigest)) {
      return digestChunk(chunkCode.itemReference, itemDigest);
    }
    if (bytes.length >= minRememberedBytes) {
      known.add(itemDigest);
    }
    return textChunk(chunkCode.item, bytes);
  });
  sent.forEach((item) => known.add(item.digest));
  return [
    digestChunk(chunkCode.list, base?.digest ?? emptyListDigest),
    ...chunks,
    textChunk(chunkCode.text, "]"),
  ];
}
