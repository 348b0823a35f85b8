import type { Line } from "../chaos/soak/journal.ts";
import { endFingerprint, startFingerprint } from "../chaos/soak/fingerprint.ts";

interface StoredRun {
  readonly id: string;
  readonly name: string;
  readonly run_type: string;
  readonly inputs: unknown;
  readonly outputs: unknown;
  readonly error: unknown;
  readonly end_time: string | null;
  readonly dotted_order: string;
  readonly extra: { readonly metadata?: Readonly<Record<string, unknown>> } | null;
}

const pageSize = 100;
/** Only the fields that are compared: the server computes others, which takes most of the time. */
const comparedFields = [
  "id",
  "name",
  "run_type",
  "inputs",
  "outputs",
  "error",
  "end_time",
  "dotted_order",
  "extra",
] as const satisfies readonly (keyof StoredRun)[];

/** Reads the runs of a project, or those that match a filter, through the API of a server. */
export async function* readRuns(
  url: string,
  project: string,
  filter?: string,
): AsyncGenerator<StoredRun> {
  const sessions = (await fetchJson(`${url}/sessions?name=${project}`)) as {
    readonly id: string;
  }[];
  const session = sessions.map(({ id }) => id);
  let cursor: string | null = null;
  do {
    const page = (await fetchJson(`${url}/runs/query`, {
      session,
      limit: pageSize,
      select: comparedFields,
      ...(filter !== undefined && { filter }),
      ...(cursor !== null && { cursor }),
    })) as { readonly runs: StoredRun[]; readonly cursors: { readonly next: string | null } };
    yield* page.runs;
    cursor = page.cursors.next;
  } while (cursor !== null);
}

interface RecordedTime {
  readonly project: string;
  readonly fromMs: number;
  readonly toMs: number;
}

/**
 * Reads all runs of a project, each server an equal part of the time, because reading them one after the other takes
 * minutes.
 */
export async function readAllRuns(
  urls: readonly string[],
  { project, fromMs, toMs }: RecordedTime,
  onRun: (run: StoredRun) => void,
): Promise<void> {
  const toText = (part: number): string =>
    JSON.stringify(new Date(fromMs + ((toMs - fromMs) * part) / urls.length).toISOString());
  const readPart = async (url: string, part: number): Promise<void> => {
    // The first and the last part have no outer limit, so that every run is in a part.
    const limits = [
      ...(part === 0 ? [] : [`gte(start_time, ${toText(part)})`]),
      ...(part === urls.length - 1 ? [] : [`lt(start_time, ${toText(part + 1)})`]),
    ];
    for await (const run of readRuns(url, project, `and(${limits.join(", ")})`)) {
      onRun(run);
    }
  };
  await Promise.all(urls.map(readPart));
}

/** What a server has stored of a run, in the form in which the journal of a producer has it. */
export function toLines(run: StoredRun): readonly Line[] {
  const { id, name, run_type, inputs, outputs, error, dotted_order: dottedOrder } = run;
  const { producer, draw } = run.extra?.metadata ?? {};
  const start: Line = {
    is: "stored",
    id,
    part: "start",
    print: startFingerprint({ name, run_type, inputs, metadata: { producer, draw } }),
    dottedOrder,
  };
  const print = endFingerprint({ outputs, error: error ?? undefined });
  return run.end_time === null
    ? [start]
    : [start, { is: "stored", id, part: "end", print, dottedOrder }];
}

async function fetchJson(url: string, body?: object): Promise<unknown> {
  const response = await fetch(url, {
    ...(body !== undefined && {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    }),
  });
  if (!response.ok) {
    throw new Error(`${url}: ${response.status} ${await response.text()}`);
  }
  return response.json();
}
