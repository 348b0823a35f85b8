import type { RedactionCounts } from "../model/records/shipping.ts";
import type { Ledger } from "../tracing/queue/ledger.ts";
import type { Reporter } from "./reporter.ts";

/** Counts the matches that redaction rules masked, and counts a warning for each record to which the rules could not be applied. */
export function countRedacted(
  { maskedMatches, failedRecords }: RedactionCounts,
  ledger: Ledger,
  reporter: Reporter,
): void {
  ledger.redacted += maskedMatches;
  for (let record = 0; record < failedRecords; record++) {
    ledger.countWarning("redactionFailure");
  }
  if (failedRecords > 0) {
    reporter.logLater(
      "redactionFailure",
      "The rules of the option redact could not be applied: the affected records were masked completely.",
    );
  }
}
