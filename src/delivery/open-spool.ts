import type { ResolvedOptions } from "../model/options/options.ts";
import type { Ledger } from "../tracing/queue/ledger.ts";
import { DeadLetters } from "../workers/spool/dead-letters.ts";
import { Redactor } from "../workers/redaction/redactor.ts";
import { Spool } from "../workers/spool/spool.ts";
import type { SpoolLoss, SpoolOptions } from "../workers/spool/spool-options.ts";
import { countRedacted } from "./count-redacted.ts";
import type { Reporter } from "./reporter.ts";
import { createRedactionPlan } from "./shipping-options.ts";

/** The files of a client on disk. */
export interface ClientStorage {
  readonly spool: Spool;
  readonly deadLetters: DeadLetters;
}

/** The options that affect the files on disk. */
type StorageOptions = Pick<
  ResolvedOptions,
  "spoolDir" | "spoolQuotaBytes" | "spoolSyncMs" | "redact" | "apiKey" | "environmentFaults"
>;

/**
 * Opens a client's spool, which keeps undelivered records in the folder `spoolDir`. Counts the records that the spool
 * loses, and counts and logs problems with its files. Returns `undefined` without `spoolDir`.
 */
export function openSpool(
  options: StorageOptions,
  ledger: Ledger,
  reporter: Reporter,
): ClientStorage | undefined {
  const { spoolDir, spoolQuotaBytes, spoolSyncMs } = options;
  if (spoolDir === undefined) {
    return undefined;
  }
  const plan = createRedactionPlan(options);
  const redactor = plan === undefined ? undefined : new Redactor(plan);
  const spoolOptions: SpoolOptions = {
    folder: spoolDir,
    quotaBytes: spoolQuotaBytes,
    syncMs: spoolSyncMs,
    onLost: (loss) => countLoss(loss, ledger),
    onFault: (kind, message) => {
      ledger.countWarning(kind);
      reporter.logLater(kind, `The spool: ${message}`);
    },
    // A worker has masked most records already, and those are not searched again. What is masked in a copy is not
    // counted here, because the worker that has the original records counts it.
    ...(redactor === undefined
      ? {}
      : {
          maskRecords: (records, isCopy) => {
            const redactedCounts = redactor.redact(records);
            if (!isCopy) {
              countRedacted(redactedCounts, ledger, reporter);
            }
          },
        }),
  };
  return { spool: new Spool(spoolOptions), deadLetters: new DeadLetters(spoolOptions) };
}

function countLoss(
  { cause, ownRecordCount, inheritedRecordCount }: SpoolLoss,
  ledger: Ledger,
): void {
  // Records of an earlier process are counted here for the first time: as accepted and as lost.
  ledger.accepted += inheritedRecordCount;
  ledger.subtractSpooled(ownRecordCount);
  ledger.countLost(
    cause === "evicted" ? "spoolFull" : "spoolLost",
    ownRecordCount + inheritedRecordCount,
  );
}
