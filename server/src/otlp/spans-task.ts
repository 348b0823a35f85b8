import type { DecodedRuns } from "../runs/run-tasks.ts";
import type { WorkTask } from "../storage/work-threads.ts";
import type { Encoding } from "./decode.ts";

/** Task for a worker thread: decodes the body of `POST /otel/v1/traces`, given as chunks. */
export interface SpansTask extends WorkTask<DecodedRuns> {
  readonly kind: "spans";
  readonly chunks: readonly Uint8Array[];
  readonly encoding: Encoding;
  readonly project: string | undefined;
}
