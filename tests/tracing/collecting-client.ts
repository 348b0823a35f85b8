import type { KeyValues, RunEvent, WirePatch, WireRun } from "../../src/model/run.ts";
import { recorder } from "../../src/tracing/tape/recorder.ts";
import type {
  RecordedRun,
  Recorder,
  TracingClient,
  WarningKind,
} from "../../src/tracing/tape/recorder.ts";

/** The content of a record at the call. */
export interface CollectedRecord {
  readonly kind: "start" | "end";
  readonly id: string;
  readonly traceId: string;
  readonly dottedOrder: string;
  readonly parentRunId: string | undefined;
  readonly name: string;
  readonly runType: string;
  readonly projectName: string;
  readonly inputs: unknown;
  readonly outputs: unknown;
  readonly error: string | undefined;
  readonly events: readonly RunEvent[] | undefined;
  readonly tags: readonly string[] | undefined;
  readonly metadata: KeyValues | undefined;
  readonly serialized: unknown;
  readonly referenceExampleId: string | undefined;
  readonly endMicros: number | undefined;
  readonly detailsChanged: boolean;
}

interface CollectingOptions {
  readonly isSampled?: (traceId: string) => boolean;
  readonly filtersOutputs?: boolean;
}

/** A client that keeps everything that is recorded, copied at the call. */
export class CollectingClient implements TracingClient {
  readonly records: CollectedRecord[] = [];
  readonly created: WireRun[] = [];
  readonly updated: WirePatch[] = [];
  readonly warnings: { readonly kind: WarningKind; readonly message: string }[] = [];
  /** The number of fields that were truncated. */
  truncated = 0;
  readonly [recorder]: Recorder;

  constructor({ isSampled = () => true, filtersOutputs = false }: CollectingOptions = {}) {
    this[recorder] = {
      projectName: "default",
      attachmentBytes: 1_048_576,
      filtersOutputs,
      isSampled,
      recordStart: (run) => {
        this.records.push(copyOf(run, "start"));
      },
      recordEnd: (run) => {
        this.records.push(copyOf(run, "end"));
      },
      truncated: () => {
        this.truncated += 1;
      },
      warn: (kind, message) => {
        this.warnings.push({ kind, message });
      },
    };
  }

  async createRun(run: WireRun): Promise<void> {
    this.created.push({ ...run });
  }

  async updateRun(id: string, patch: WirePatch): Promise<void> {
    this.updated.push({ ...patch, id });
  }

  starts(): readonly CollectedRecord[] {
    return this.records.filter(({ kind }) => kind === "start");
  }

  ends(): readonly CollectedRecord[] {
    return this.records.filter(({ kind }) => kind === "end");
  }

  /** The start of the run with this name; fails if there is none. */
  start(name: string): CollectedRecord {
    return only(this.starts(), name);
  }

  /** The end of the run with this name; fails if there is none. */
  end(name: string): CollectedRecord {
    return only(this.ends(), name);
  }

  /** The run with this name that another library recorded through this client. */
  createdRun(name: string): WireRun {
    return only(this.created, name);
  }
}

function only<Named extends { readonly name: string }>(all: readonly Named[], name: string): Named {
  const found = all.filter((each) => each.name === name);
  if (found.length !== 1 || found[0] === undefined) {
    throw new Error(
      `${found.length} runs are named ${name}: ${all.map((each) => each.name).join()}`,
    );
  }
  return found[0];
}

function copyOf(run: RecordedRun, kind: CollectedRecord["kind"]): CollectedRecord {
  return {
    kind,
    id: run.id,
    traceId: run.traceId,
    dottedOrder: run.dottedOrder,
    parentRunId: run.parentRunId,
    name: run.name,
    runType: run.runType,
    projectName: run.projectName,
    inputs: snapshot(run.inputs),
    outputs: snapshot(run.outputs),
    error: run.error,
    events: run.events === undefined ? undefined : [...run.events],
    tags: run.tags === undefined ? undefined : [...run.tags],
    metadata: snapshot(run.metadata),
    serialized: run.serialized,
    referenceExampleId: run.referenceExampleId,
    endMicros: run.endMicros,
    detailsChanged: run.detailsChanged,
  };
}

const snapshot = <T>(value: T): T => {
  try {
    return structuredClone(value);
  } catch {
    // Functions and the like, which no test inspects.
    return value;
  }
};
