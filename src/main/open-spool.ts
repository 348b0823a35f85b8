import type { KeepingOptions } from "../model/keeping-options.ts";
import type { Ledger } from "../tracing/ledger.ts";
import { DeadLetters } from "../workers/dead-letters.ts";
import { Spool } from "../workers/spool.ts";
import type { SpoolLoss, SpoolOptions } from "../workers/spool-options.ts";
import type { Reporter } from "./reporter.ts";

/** What a client keeps on disk. */
export interface Storage {
  readonly spool: Spool;
  readonly deadLetters: DeadLetters;
}

/** The spool of a client's options, whose losses and troubles are counted and said; none without a folder. */
export function openSpool(
  { spoolDir, spoolQuotaBytes, spoolSyncMs }: KeepingOptions,
  ledger: Ledger,
  reporter: Reporter,
): Storage | undefined {
  if (spoolDir === undefined) {
    return undefined;
  }
  const options: SpoolOptions = {
    folder: spoolDir,
    quotaBytes: spoolQuotaBytes,
    syncMs: spoolSyncMs,
    onLost: (loss) => countLoss(loss, ledger),
    onTrouble: (kind, message) => {
      ledger.warn(kind);
      reporter.log(kind, () => `The spool: ${message}`);
    },
  };
  return { spool: new Spool(options), deadLetters: new DeadLetters(options) };
}

function countLoss({ why, own, inherited }: SpoolLoss, ledger: Ledger): void {
  // Of an earlier process: counted for the first time here, and as lost at once.
  ledger.accepted += inherited;
  ledger.unspool(own);
  ledger.lose(why === "evicted" ? "spoolFull" : "spoolLost", own + inherited);
}
