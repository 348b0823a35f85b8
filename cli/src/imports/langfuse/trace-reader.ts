import type { KeyValues } from "millrace/model";
import { toObject, toObjects, toText } from "../model/json-values.ts";
import { pageRows, readAllByOffset, readOffsetPage, readUntilItFits } from "../source/pages.ts";
import type { Page } from "../source/pages.ts";
import type { SourceClient } from "../source/source-client.ts";
import { readDataPage } from "./data-page.ts";

/** Reads traces and their observations. There is one reader for each version of Langfuse's API. */
export interface TraceReader {
  /** Reads a page of traces. */
  readonly readPage: (cursor: string | undefined) => Promise<Page<KeyValues>>;
  /** Reads the observations of a trace. May be called several times. */
  readonly readObservations: (traceId: string) => AsyncIterable<KeyValues>;
  /** Whether the listed traces contain only an id, so that all other values must be taken from the observations. */
  readonly hasOnlyIds: boolean;
}

/** The period of the traces to read: they begin at `since` or later, and before `until`. */
export interface TracePeriod {
  readonly since: string | undefined;
  readonly until: string;
}

/**
 * Creates a reader that uses `/traces` and `/observations`, for Langfuse up to version 3. Traces are ordered by time,
 * so that new traces don't shift the pages.
 */
export const createPagedReader = (
  client: SourceClient,
  { since, until }: TracePeriod,
): TraceReader => ({
  hasOnlyIds: false,
  readPage: (cursor) =>
    readOffsetPage(cursor, (range) =>
      readDataPage(client, "/api/public/traces", {
        ...range,
        fromTimestamp: since,
        toTimestamp: until,
        orderBy: "timestamp.asc",
        // The group `observations` is not requested, because observations are read separately for each trace.
        fields: "core,io,metrics",
      }),
    ),
  readObservations: (traceId) =>
    readAllByOffset((range) =>
      readDataPage(client, "/api/public/observations", { ...range, traceId }),
    ),
});

/** Maximum number of observations per page, if a page contains only their ids and times. */
const corePageRows = 1_000;
/** Maximum number of traces that are remembered as already imported. */
const maxSeenTraces = 100_000;
const observationFields = "core,basic,time,io,metadata,model,usage,prompt,trace_context";

/**
 * Creates a reader that uses `/v2/observations`, for version 4 of Langfuse, which does not store traces as rows. The
 * ids and times of all observations are listed, and a trace is read when its first observation is listed. After an
 * interruption, or if more traces overlap than are remembered, a trace is read again, which has no effect on the
 * imported data.
 */
export function createCursorReader(
  client: SourceClient,
  { since, until }: TracePeriod,
): TraceReader {
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
      return { rows: newIds.map((id) => ({ id })), next };
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

/** Reads a page of observations. */
const readCursorPage = (
  client: SourceClient,
  maxRows: number,
  query: Readonly<Record<string, string | undefined>>,
): Promise<Page<KeyValues>> =>
  readUntilItFits({ maxRows }, async (limit) => {
    const { data, meta } = toObject(
      await client.get("/api/public/v2/observations", { ...query, limit }),
    );
    return { rows: toObjects(data), next: toText(toObject(meta)["cursor"]) };
  });
