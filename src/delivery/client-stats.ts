import type { ServerInfo } from "../model/resources/server-info.ts";
import type { SharedTraffic } from "../model/records/shared-traffic.ts";
import type { RecordingStats, DeliveryFailure, Quantiles } from "../model/stats.ts";
import type { Ledger } from "../tracing/queue/ledger.ts";

/** Sources of the counts in {@link RecordingStats}. */
export interface CountSources {
  readonly ledger: Ledger;
  readonly traffic: SharedTraffic;
  readonly pendingRecords: number;
  readonly deliveryMs: Quantiles;
  readonly server: ServerInfo | undefined;
  readonly lastFailure: DeliveryFailure | undefined;
}

/** Collects a client's counts of records, requests and warnings in the form that `client.stats()` returns. */
export function collectStats({
  ledger,
  traffic,
  pendingRecords,
  deliveryMs,
  server,
  lastFailure,
}: CountSources): RecordingStats {
  const { accepted, delivered, spooled, lost, sampledOut, truncated, redacted } = ledger;
  const { rejected } = lost;
  return {
    accepted,
    delivered,
    rejected,
    dropped: ledger.totalLost - rejected,
    spooled,
    pending: pendingRecords,
    lost: { ...lost },
    sampledOut,
    truncated,
    redacted,
    bytes: { recorded: ledger.bytesRecorded, sent: traffic.bytesSent },
    requests: traffic.requests,
    retries: traffic.retries,
    deliveryMs,
    warnings: Object.fromEntries(ledger.warnings),
    ...(lastFailure === undefined ? {} : { lastFailure }),
    ...(server === undefined ? {} : { server }),
  };
}
