import type { WirePost } from "millrace";
import { microsToStamp } from "millrace/model";
import type { KeyValues } from "millrace/model";
import { createThenImport } from "../model/import-source.ts";
import type { Phase } from "../model/import-source.ts";
import { omitUndefined } from "../../omit-undefined.ts";
import { toNumber, toText, toTime } from "../model/json-values.ts";
import type { DownloadedAttachments } from "../source/download-attachments.ts";
import type { ImportSettings } from "../target/import-settings.ts";
import type { LangfuseProject } from "./langfuse-project.ts";
import { downloadMedia } from "./media.ts";
import { loadAhead, toBatches } from "./async-items.ts";
import { toObservationRow, toTraceRow } from "./observation-row.ts";
import type { RunPosition, TraceContext } from "./observation-row.ts";
import { maxObservations, toMicros, TraceOutline } from "./trace-outline.ts";
import { createCursorReader, createPagedReader } from "./trace-reader.ts";
import type { TraceReader } from "./trace-reader.ts";

/**
 * Maximum number of observations of a trace that are kept after they were first read. If a trace has more, they are
 * read a second time.
 */
const maxBuffered = 64;
/**
 * Number of traces whose observations are read at the same time, because most of the time is spent waiting for the
 * server.
 */
const tracesAtOnce = 4;

/**
 * Creates the phase that creates the project and imports traces. A trace becomes a root run, and its observations
 * become the runs below it.
 */
export function createProjectPhase(
  settings: ImportSettings,
  readProject: () => Promise<LangfuseProject>,
): Phase {
  let reader: Promise<TraceReader> | undefined;
  return {
    name: "projects",
    listItems: async () => {
      const project = await readProject();
      return [
        {
          key: project.id,
          label: `project ${JSON.stringify(project.name)}`,
          importPage: createThenImport(
            async () => {
              await addProject(settings, project);
              return settings.kinds.has("runs");
            },
            async (cursor) => {
              reader ??= chooseReader(settings);
              const { rows: traces, next } = await (await reader).readPage(cursor);
              const importer = new TraceImport(settings, project, await reader);
              await settings.target.addRuns(project.name, importer.toRows(traces));
              await settings.target.endRuns(importer.ends);
              return next;
            },
          ),
        },
      ];
    },
  };
}

const addProject = ({ target }: ImportSettings, { id, name, ids }: LangfuseProject) =>
  target.addProject({
    id: ids.project,
    name,
    metadata: { imported_from: "langfuse", langfuse_project_id: id },
  });

/** Chooses how traces are read, because version 4 of Langfuse may lack `/traces`. */
async function chooseReader({ client, since, until }: ImportSettings): Promise<TraceReader> {
  const hasTraces = (await client.find("/api/public/traces", { limit: 1 })) !== undefined;
  const period = { since, until };
  return hasTraces ? createPagedReader(client, period) : createCursorReader(client, period);
}

/** Converts traces to runs. */
class TraceImport {
  readonly #settings: ImportSettings;
  readonly #project: LangfuseProject;
  readonly #reader: TraceReader;
  /** Ends of runs that are still open on the target, but have ended at the source meanwhile. */
  readonly ends: WirePost[] = [];

  constructor(settings: ImportSettings, project: LangfuseProject, reader: TraceReader) {
    this.#settings = settings;
    this.#project = project;
    this.#reader = reader;
  }

  async *toRows(traces: readonly KeyValues[]): AsyncGenerator<WirePost> {
    const loaded = loadAhead(traces, tracesAtOnce, (trace) => this.#load(trace));
    for await (const trace of loaded) {
      yield* this.#toTraceRows(trace);
    }
  }

  /** Reads the observations of a trace for the first time, to find the position of each in the tree. */
  async #load(listed: KeyValues): Promise<LoadedTrace> {
    const outline = new TraceOutline();
    let buffered: KeyValues[] | undefined = [];
    const traceId = toText(listed["id"]);
    if (traceId !== undefined) {
      for await (const observation of this.#reader.readObservations(traceId)) {
        outline.add(observation);
        buffered = buffered !== undefined && buffered.length < maxBuffered ? buffered : undefined;
        buffered?.push(observation);
      }
    }
    return { listed, outline, buffered };
  }

  async *#toTraceRows({ listed, outline, buffered }: LoadedTrace): AsyncGenerator<WirePost> {
    const { readObservations, hasOnlyIds } = this.#reader;
    const { tally } = this.#settings.target;
    const traceId = toText(listed["id"]);
    if (traceId === undefined) {
      tally.leaveOut("runs", "a trace has no id");
      return;
    }
    const trace = hasOnlyIds ? toTrace(traceId, outline) : listed;
    const start = toTime(trace["timestamp"]);
    if (start === undefined || outline.isTooLarge) {
      const reason = outline.isTooLarge
        ? `the trace has more than ${maxObservations.toLocaleString("en")} observations`
        : "the trace has no time";
      tally.leaveOut("runs", reason, traceId);
      return;
    }
    const context = {
      traceId,
      sessionId: toText(trace["sessionId"]),
      userId: toText(trace["userId"]),
    };
    const root = { id: this.#project.ids.trace(traceId), micros: toMicros(start) };
    const { ids } = this.#project;
    const convertTrace = async (): Promise<WirePost> =>
      attach(
        toTraceRow(trace, this.#toPosition(root, { traceId, path: [] }), {
          context,
          endTime: findEnd(trace, outline),
        }),
        // If a trace has only an id, its values come from an observation, and the attachments belong to that
        // observation.
        hasOnlyIds ? undefined : await downloadMedia(trace, this.#settings),
      );
    const candidates = async function* list(): AsyncGenerator<KeyValues | undefined> {
      yield undefined;
      yield* buffered ?? readObservations(traceId);
    };
    for await (const batch of toBatches(candidates(), maxBuffered)) {
      const runIds = batch.map((observation) =>
        observation === undefined
          ? root.id
          : ids.observation(traceId, toText(observation["id"]) ?? ""),
      );
      const runStates = await this.#settings.target.findRuns(runIds);
      for (const [index, observation] of batch.entries()) {
        const state = runStates.get(runIds[index] ?? "");
        if (state !== undefined) {
          const end =
            state === "open" && observation !== undefined
              ? this.#convert(observation, { outline, root, context })
              : undefined;
          if (end?.end_time === undefined) {
            tally.add("runs", "existing");
          } else {
            this.ends.push(end);
          }
          continue;
        }
        if (observation === undefined) {
          yield await convertTrace();
        } else {
          const row = this.#convert(observation, { outline, root, context });
          if (row === undefined) {
            tally.leaveOut("runs", "an observation has no id or no start time", traceId);
          } else {
            yield attach(row, await downloadMedia(observation, this.#settings));
          }
        }
      }
    }
  }

  /** Converts an observation. Returns `undefined` if it has no id or no start time. */
  #convert(
    observation: KeyValues,
    {
      outline,
      root,
      context,
    }: {
      readonly outline: TraceOutline;
      readonly root: TraceRoot;
      readonly context: TraceContext;
    },
  ): WirePost | undefined {
    const path = outline.readAncestry(toText(observation["id"]) ?? "");
    return path.length === 0
      ? undefined
      : toObservationRow(
          observation,
          this.#toPosition(root, { traceId: context.traceId, path }),
          context,
        );
  }

  /** Computes the position of a run in its trace from the observations above it. */
  #toPosition(
    root: TraceRoot,
    {
      traceId,
      path,
    }: { readonly traceId: string; readonly path: ReturnType<TraceOutline["readAncestry"]> },
  ): RunPosition {
    const segments = [
      { id: root.id, micros: root.micros },
      ...path.map(({ id, startMicros }) => ({
        id: this.#project.ids.observation(traceId, id),
        micros: startMicros,
      })),
    ];
    return {
      id: segments.at(-1)?.id ?? root.id,
      traceId: root.id,
      parentId: segments.at(-2)?.id,
      dottedOrder: segments.map(({ id, micros }) => microsToStamp(micros) + id).join("."),
      projectName: this.#project.name,
    };
  }
}

const attach = (row: WirePost, attachments: DownloadedAttachments | undefined): WirePost =>
  attachments === undefined ? row : { ...row, attachments };

/** A trace whose observations were read. */
interface LoadedTrace {
  readonly listed: KeyValues;
  readonly outline: TraceOutline;
  /** The observations of the trace; `undefined` if there are too many to keep. */
  readonly buffered: readonly KeyValues[] | undefined;
}

interface TraceRoot {
  readonly id: string;
  readonly micros: number;
}

/**
 * Creates a trace from its observations. As in Langfuse's own UI, its inputs and outputs are those of the first
 * observation without a parent.
 */
function toTrace(id: string, outline: TraceOutline): KeyValues {
  const { firstMicros, root } = outline;
  return omitUndefined({
    ...root,
    id,
    metadata: undefined,
    name: root?.["traceName"] ?? root?.["name"],
    timestamp: firstMicros === undefined ? undefined : new Date(firstMicros / 1_000).toISOString(),
  });
}

/**
 * Returns the end of a trace: the end of its last observation, or, without observations, its start plus its latency.
 */
function findEnd(trace: KeyValues, outline: TraceOutline): string | undefined {
  const [start, latencySeconds] = [toTime(trace["timestamp"]), toNumber(trace["latency"])];
  return (
    outline.endTime ??
    (start !== undefined && latencySeconds !== undefined
      ? new Date(Date.parse(start) + latencySeconds * 1_000).toISOString()
      : undefined)
  );
}
