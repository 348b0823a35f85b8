import { mergePayloads } from "../merge-payloads.ts";
import { readReportedUsage } from "../usage/run-measures.ts";
import type { ReportedUsage } from "../usage/run-cost.ts";
import type { MergedRun } from "./batch-merger.ts";
import type { RunRows, StoredBody } from "./run-rows.ts";

/** Determines the usage that runs report after a batch. */
export class BatchUsage {
  readonly #rows: RunRows;
  readonly #bodies: Uint8Array;

  constructor(rows: RunRows, bodies: Uint8Array) {
    this.#rows = rows;
    this.#bodies = bodies;
  }

  /**
   * Returns the usage of each run that reports any. The usage of a new run with a single record is the usage in that
   * record. For other runs, all payloads are read, because the tokens may be in a patch and the model in the post.
   */
  async read(
    tenantId: string,
    merged: readonly MergedRun[],
  ): Promise<ReadonlyMap<string, ReportedUsage>> {
    const usage = new Map<string, ReportedUsage>();
    const runsWithSeveralRecords: MergedRun[] = [];
    for (const run of merged) {
      const [firstRecord] = run.added;
      const hasMeasures =
        run.added.length > 0 &&
        (run.stored?.usage !== undefined ||
          run.added.some(({ measures }) => measures !== undefined));
      if (!hasMeasures) {
        continue;
      }
      if (run.stored !== undefined || run.added.length > 1) {
        runsWithSeveralRecords.push(run);
      } else if (firstRecord?.measures !== undefined) {
        usage.set(run.id, { measures: firstRecord.measures, billing: firstRecord.billing });
      }
    }
    const storedBodies = await this.#rows.readBodies(
      tenantId,
      runsWithSeveralRecords.flatMap(({ stored }) => (stored === undefined ? [] : [stored])),
    );
    for (const run of runsWithSeveralRecords) {
      const reported = readReportedUsage(
        mergePayloads(this.#orderBodies(run, storedBodies.get(run.stored?.row.id ?? run.id) ?? [])),
        { withBilling: true },
      );
      if (reported !== undefined) {
        usage.set(run.id, reported);
      }
    }
    return usage;
  }

  /** The payloads in ascending precedence: that of the post, then those of the patches. */
  #orderBodies({ added }: MergedRun, stored: readonly StoredBody[]): readonly Uint8Array[] {
    const all = [
      ...stored,
      ...added.map(({ operation, bodyStart, bodyEnd }) => ({
        isPatch: operation === "patch",
        body: this.#bodies.subarray(bodyStart, bodyEnd),
      })),
    ];
    return [...all.filter(({ isPatch }) => !isPatch), ...all.filter(({ isPatch }) => isPatch)].map(
      ({ body }) => body,
    );
  }
}
