import { RunTree } from "../../main/index.ts";
import type { KeyValues, NewRunOptions } from "../../main/index.ts";

/** The result with which a run ends. */
export interface RunResult {
  readonly outputs?: KeyValues | undefined;
  /** The thrown value; `undefined` if the work succeeded. */
  readonly error?: unknown;
  /** Whether the program stopped reading before the end. */
  readonly isCancelled?: boolean;
  /** Milliseconds since the Unix epoch. */
  readonly endTime?: number | undefined;
}

/** Metadata key of a run whose stream the program stopped reading. `traceable` uses the same key. */
const cancelledKey = "millrace_cancelled";

/**
 * A run that can be ended on the assumption that its work has ended without a notification. If the work continues after
 * all, the end is corrected. States: open; assumed ended, after `assumeEnd`; ended, after `end`. No method throws.
 */
export class CorrectableRun {
  readonly run: RunTree;
  #state: "open" | "assumed" | "ended" = "open";

  constructor(options: NewRunOptions, parent?: RunTree) {
    this.run = parent?.startChild(withoutClient(options)) ?? new RunTree(options);
  }

  get isEnded(): boolean {
    return this.#state === "ended";
  }

  /** Ends the run provisionally, with the outputs so far. A later call of `assumeEnd` or `end` replaces this end. */
  assumeEnd(outputs: KeyValues | undefined): void {
    if (this.#state === "open") {
      this.#state = "assumed";
      this.run.addMetadata({ [cancelledKey]: true });
      this.run.end(outputs);
    } else if (this.#state === "assumed") {
      this.#correct({ outputs, isCancelled: true });
    }
  }

  /** Ends the run. A second call has no effect. */
  end({ outputs, error, isCancelled = false, endTime }: RunResult): void {
    const previous = this.#state;
    this.#state = "ended";
    if (previous === "open") {
      if (isCancelled) {
        this.run.addMetadata({ [cancelledKey]: true });
      }
      const options = endTime === undefined ? undefined : { endTime };
      if (error === undefined) {
        this.run.end(outputs, options);
      } else {
        this.run.fail(error, outputs, options);
      }
    } else if (previous === "assumed") {
      this.#correct({ outputs, error, isCancelled, endTime });
    }
  }

  /**
   * Replaces the recorded end. A run can be ended only once, so the correction is sent as an update of the stored run.
   */
  #correct({ outputs, error, isCancelled = false, endTime = Date.now() }: RunResult): void {
    const { run } = this;
    if (!run.sampled) {
      return;
    }
    void run.client.updateRun(run.id, {
      id: run.id,
      trace_id: run.traceId,
      dotted_order: run.dottedOrder,
      parent_run_id: run.parentRunId,
      end_time: endTime,
      outputs: outputs ?? {},
      ...(error === undefined ? {} : { error: toText(error) }),
      extra: { metadata: { ...run.metadata, [cancelledKey]: isCancelled } },
    });
  }
}

const withoutClient = ({ client: _, ...options }: NewRunOptions): Omit<NewRunOptions, "client"> =>
  options;

const toText = (error: unknown): string =>
  error instanceof Error ? (error.stack ?? error.message) : String(error);
