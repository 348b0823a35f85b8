import type { JsonWriter } from "../json/json-writer.ts";
import { measureRun } from "../json/operations.ts";
import type { RunOperation } from "../json/operations.ts";
import type { RunJson } from "../json/run-json.ts";
import type { SpanEncoder } from "../otlp/span-encoder.ts";
import type { Batch } from "./sink.ts";
import { replaceAttachments } from "./tape-batch.ts";

/** Approximate bytes that a span has in addition to the contents of its run. */
const overheadBytes = 1_500;

/**
 * A batch of ended runs from one tape (a buffer of recorded runs), which are sent as spans. A span can't be divided, so
 * a run that is too large can be sent only with markers in place of its largest payloads.
 */
export class SpanBatch implements Batch {
  readonly runs: readonly RunOperation[];
  readonly isSmall = false;
  readonly #json: RunJson;
  readonly #encoder: SpanEncoder;

  constructor(json: RunJson, encoder: SpanEncoder, runs: readonly RunOperation[]) {
    this.#json = json;
    this.#encoder = encoder;
    this.runs = runs.map((run) => replaceAttachments(run, "spans have no attachments"));
  }

  get sizeBytes(): number {
    const { reader } = this.#json;
    return this.runs.reduce((sum, run) => sum + measureRun(reader, run) + overheadBytes, 0);
  }

  /** Writes the body of the request that exports the spans. */
  writeBody(out: JsonWriter): readonly [] {
    this.#encoder.writeRequest(out, this.#json, this.runs);
    return [];
  }

  withRuns(runs: readonly RunOperation[]): SpanBatch {
    return new SpanBatch(this.#json, this.#encoder, runs);
  }

  splitSingleRun(): readonly SpanBatch[] {
    const [run] = this.runs;
    const largestPayload =
      run === undefined || this.runs.length > 1 ? undefined : this.#json.findLargestPayload(run);
    return run === undefined || largestPayload === undefined
      ? []
      : [
          this.withRuns([
            { ...run, withheldFields: [...(run.withheldFields ?? []), largestPayload] },
          ]),
        ];
  }

  separateAttachments(): readonly SpanBatch[] {
    return [];
  }

  combineBatches(): SpanBatch {
    return this;
  }

  replaceAttachments(): SpanBatch {
    return this;
  }
}
