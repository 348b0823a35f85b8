import type { RunRow } from "./run-row.ts";
import type { RunFilter } from "./run-store.ts";

/** Whether a run passes a filter; what the SQL of the other engine says, in words of this language. */
export function matchesFilter(filter: RunFilter, row: RunRow, bodies: Iterable<Buffer>): boolean {
  const { projectIds, ids, referenceExampleIds, traceId, parentRunId, runType } = filter;
  return (
    isAnyOf(projectIds, row.projectId) &&
    isAnyOf(ids, row.id) &&
    isAnyOf(referenceExampleIds, row.referenceExampleId) &&
    (traceId ?? row.traceId) === row.traceId &&
    (parentRunId ?? row.parentRunId) === row.parentRunId &&
    (runType ?? row.runType) === row.runType &&
    (filter.isRoot === undefined || filter.isRoot === (row.parentRunId === null)) &&
    (filter.hasError ?? row.hasError) === row.hasError &&
    row.startMicros >= (filter.startMicros ?? row.startMicros) &&
    row.startMicros <= (filter.endMicros ?? row.startMicros) &&
    (filter.text === undefined || containsText(toNeedles(filter.text), row.name, bodies))
  );
}

const isAnyOf = (list: readonly string[] | undefined, value: string | null): boolean =>
  list === undefined || (value !== null && list.includes(value));

function containsText(needles: Needles, name: string, bodies: Iterable<Buffer>): boolean {
  return (
    lowerAscii(name).includes(needles.plain) ||
    [...bodies].some((body) => lowerAscii(body.toString("utf8")).includes(needles.escaped))
  );
}

/** What to look for in names, and in JSON texts, where some characters are written as escapes. */
export interface Needles {
  readonly plain: string;
  readonly escaped: string;
}

/** The needles of a search text, in lower case. */
export const toNeedles = (text: string): Needles => ({
  plain: lowerAscii(text),
  escaped: lowerAscii(JSON.stringify(text).slice(1, -1)),
});

/** As SQLite's lower() has it. */
const lowerAscii = (text: string): string =>
  text.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase());
