import { expect } from "vitest";
import { RequestError } from "../../src/model/errors.ts";
import type { ParsedBatch } from "../../src/runs/ingest/batch-builder.ts";
import { parseBatch, takeBatch } from "../../src/runs/ingest/parse-batch.ts";
import { packPosts, postColumns } from "../../src/runs/sqlite/post-rows.ts";

/** The result of parsing a body, for the writer and for the client; or the error. */
function seen(take: () => ParsedBatch): unknown {
  try {
    const { batch, rejected } = take();
    const { posts, records, bodies, ...others } =
      batch.posts === undefined ? packPosts(batch) : batch;
    const text = Buffer.from(bodies);
    const payload = (from = 0, to = 0): string => text.toString("utf8", from, to);
    return {
      rejected,
      rows: posts?.facetsAt.map((at, index) => ({
        values: posts.values.slice(index * postColumns.length, (index + 1) * postColumns.length),
        facets: posts.facetLists[at],
        payload: payload(posts.bounds[2 * index], posts.bounds[2 * index + 1]),
      })),
      valueCount: posts?.values.length,
      records: records.map(({ bodyStart, bodyEnd, ...record }) => ({
        ...record,
        payload: payload(bodyStart, bodyEnd),
      })),
      ...others,
    };
  } catch (cause) {
    if (!(cause instanceof RequestError)) {
      throw cause;
    }
    return { status: cause.status, message: cause.message };
  }
}

/** Splits a body into chunks, because bodies arrive in chunks of the socket. */
function inPieces(body: Buffer): readonly Buffer[] {
  const middle = Math.floor(body.length / 3);
  return [body.subarray(0, middle), body.subarray(middle)];
}

/** Checks that a body has the same result with the WebAssembly module and without it. */
export function expectSame(body: Buffer | string): void {
  const bytes = Buffer.from(body);
  expect(seen(() => takeBatch(inPieces(bytes)))).toEqual(seen(() => parseBatch(bytes)));
}
