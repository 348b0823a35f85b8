import type { KeyValues } from "millrace/model";
import { omitUndefined, toObject, toObjects, toText } from "../model/json-values.ts";
import { readAllByOffset, readOffsetPage } from "../source/offset-pages.ts";
import { ResponseTooLarge } from "../source/source-client.ts";
import type { SourceClient } from "../source/source-client.ts";

/** The traces of a page, and the cursor of the next one. */
export interface TracePage {
  readonly traces: readonly KeyValues[];
  readonly next: string | undefined;
}

/** Reads traces and their observations. Versions of Langfuse differ in how. */
export interface TraceReader {
  readonly readPage: (cursor: string | undefined) => Promise<TracePage>;
  /** Reads the observations of a trace. May be called several times. */
  readonly readObservations: (traceId: string) => AsyncIterable<KeyValues>;
  /** Whether a trace has only an id, and all else is in its observations. */
  readonly hasOnlyIds: boolean;
}

/** The times between which traces begin. */
export interface TraceSpan {
  readonly since: string | undefined;
  readonly until: string;
}

/** Number of traces or observations in a response. */
const pageRows = 64;

/**
 * Reads with `/traces` and `/observations`, which are part of Langfuse up to version 3. Traces are ordered by time, so that
 * new ones don't shift the pages.
 */
export const createPagedReader = (
  client: SourceClient,
  { since, until }: TraceSpan,
): TraceReader => ({
  hasOnlyIds: false,
  readPage: async (cursor) => {
    const { rows, nextOffset, isLast } = await readOffsetPage(
      Number(cursor ?? 0),
      pageRows,
      async (page) =>
        toObjects(
          toObject(
            await client.get("/api/public/traces", {
              ...toPageQuery(page),
              fromTimestamp: since,
              toTimestamp: until,
              orderBy: "timestamp.asc",
              // Without the group `observations`: they are read trace by trace.
              fields: "core,io,metrics",
            }),
          )["data"],
        ),
    );
    return { traces: rows, next: isLast ? undefined : String(nextOffset) };
  },
  readObservations: (traceId) =>
    readAllByOffset(pageRows, async (page) =>
      toObjects(
        toObject(await client.get("/api/public/observations", { ...toPageQuery(page), traceId }))[
          "data"
        ],
      ),
    ),
});

/** Converts an offset to the number of a page, which Langfuse counts from 1. */
export const toPageQuery = ({
  offset,
  limit,
}: {
  readonly offset: number;
  readonly limit: number;
}) => ({ page: offset / limit + 1, limit });

/** Number of observations in a response that contains only their ids and times. */
const corePageRows = 1_000;
/** Maximum number of traces that are remembered as already imported. */
const maxSeenTraces = 100_000;
const observationFields = "core,basic,time,io,metadata,model,usage,prompt,trace_context";

/**
 * Reads with `/v2/observations`, the only way in version 4 of Langfuse, where traces are no rows of their own. All
 * observations are listed by time, and each trace is read when its first one appears. After an interruption, or if more
 * traces overlap than are remembered, a trace may be read again, which changes nothing.
 */
export function createCursorReader(client: SourceClient, { since, until }: TraceSpan): TraceReader {
  const seen = new Set<string>();
  return {
    hasOnlyIds: true,
    readPage: async (cursor) => {
      const { rows, next } = await readCursorPage(client, corePageRows, {
        fields: "core",
        fromStartTime: since,
        toStartTime: until,
        cursor,
      });
      const ids = rows.flatMap((row) => toText(row["traceId"]) ?? []).filter((id) => !seen.has(id));
      const newIds = [...new Set(ids)];
      if (seen.size + newIds.length > maxSeenTraces) {
        seen.clear();
      }
      newIds.forEach((id) => seen.add(id));
      return { traces: newIds.map((id) => ({ id })), next };
    },
    readObservations: async function* readObservations(traceId) {
      let cursor: string | undefined;
      do {
        const { rows, next } = await readCursorPage(client, pageRows, {
          fields: observationFields,
          traceId,
          cursor,
        });
        yield* rows;
        cursor = next;
      } while (cursor !== undefined);
    },
  };
}

/** Reads a page of observations. If the response is too large, fewer are requested, down to one. */
async function readCursorPage(
  client: SourceClient,
  maxRows: number,
  query: Readonly<Record<string, string | undefined>>,
): Promise<{ readonly rows: readonly KeyValues[]; readonly next: string | undefined }> {
  for (let limit = maxRows; ; limit = Math.max(1, Math.floor(limit / 4))) {
    try {
      const { data, meta } = toObject(
        await client.get("/api/public/v2/observations", { ...omitUndefined(query), limit }),
      );
      return { rows: toObjects(data), next: toText(toObject(meta)["cursor"]) };
    } catch (error) {
      if (!(error instanceof ResponseTooLarge) || limit === 1) {
        throw error;
      }
    }
  }
}
