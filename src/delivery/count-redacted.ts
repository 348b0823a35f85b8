import type { Redacted } from "../model/records/shipping.ts";
import type { Ledger } from "../tracing/queue/ledger.ts";
import type { Reporter } from "./reporter.ts";

/** Counts what rules masked, and warns of records on which one failed. */
export function countRedacted(
  { masked, failed }: Redacted,
  ledger: Ledger,
  reporter: Reporter,
): void {
  ledger.redacted += masked;
  for (let record = 0; record < failed; record++) {
    ledger.warn("redactionFailure");
  }
  if (failed > 0) {
    reporter.log("redactionFailure", () => {
      return "A rule of the option redact failed: everything was masked of the records concerned.";
    });
  }
}
