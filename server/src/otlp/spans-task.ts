import type { TakenRuns } from "../runs/run-tasks.ts";
import type { WorkTask } from "../storage/work-threads.ts";
import type { Encoding } from "./decode.ts";

/** The body of `POST /otel/v1/traces`. */
export interface SpansTask extends WorkTask<TakenRuns> {
  readonly kind: "spans";
  readonly pieces: readonly Uint8Array[];
  readonly encoding: Encoding;
  readonly project: string | undefined;
}
