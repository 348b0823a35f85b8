import type * as Nats from "nats";
import type { JetStreamManager, StreamConfig, StreamState } from "nats";
import { errorCodeOf, errorCodes, isTooFewServers } from "./jetstream-errors.ts";
import { logLimits, logNames } from "./log-limits.ts";

// The streams of the log at the NATS servers: the runs that wait, the dead letters, and the objects of large runs.

export interface LogOptions {
  /** Bytes that may wait in the log; above this, the servers refuse runs. */
  readonly maxBytes: number;
  /** Milliseconds after which a message that was not acknowledged is delivered again. */
  readonly ackWaitMs?: number;
  /** Milliseconds within which the log must be reached. */
  readonly startMs?: number;
}

/** Creates the streams, or sets the limits of those that exist. Returns the number of replicas and the size limit. */
export async function prepareStreams(
  nats: typeof Nats,
  manager: JetStreamManager,
  { maxBytes, ackWaitMs = logLimits.ackWaitMs }: LogOptions,
): Promise<{ readonly replicas: number; readonly maxBytes: number }> {
  const { AckPolicy, DiscardPolicy, RetentionPolicy, StorageType, nanos } = nats;
  const shared = { storage: StorageType.File, discard: DiscardPolicy.New } as const;
  const replicas = await prepareStream(manager, {
    ...shared,
    name: logNames.stream,
    subjects: [logNames.subject],
    // A message is deleted once a writer has acknowledged it.
    retention: RetentionPolicy.Workqueue,
    max_bytes: maxBytes,
    duplicate_window: nanos(logLimits.duplicateMs),
  });
  await prepareStream(manager, {
    ...shared,
    name: logNames.deadStream,
    subjects: [logNames.deadSubject],
    retention: RetentionPolicy.Limits,
    max_bytes: Math.min(maxBytes, logLimits.deadLetterBytes),
  });
  await manager.consumers.add(logNames.stream, {
    durable_name: logNames.consumer,
    ack_policy: AckPolicy.Explicit,
    ack_wait: nanos(ackWaitMs),
    max_ack_pending: logLimits.pendingAcks,
    // The writers limit the number of deliveries themselves. A limit here would leave a message in the log without any
    // report.
    max_deliver: -1,
  });
  return { replicas, maxBytes };
}

/** Reads the maximum size and the number of replicas of the log's stream. */
export async function readBytesAndReplicas(
  manager: JetStreamManager,
): Promise<{ readonly replicas: number; readonly maxBytes: number }> {
  const { config } = await manager.streams.info(logNames.stream);
  return { replicas: config.num_replicas, maxBytes: config.max_bytes };
}

/**
 * Returns the limit to set for an existing stream. A limit below the size of the stream would delete its oldest
 * messages, and more messages may arrive meanwhile. So the limit is lowered only if half of the new limit is free;
 * otherwise it stays.
 */
function toSafeLimit(
  { config, state }: { readonly config: StreamConfig; readonly state: StreamState },
  maxBytes: number,
): number {
  const isLower = maxBytes < config.max_bytes || config.max_bytes <= 0;
  if (!isLower || state.bytes <= maxBytes / 2) {
    return maxBytes;
  }
  process.emitWarning(
    `the stream ${config.name} of the ingest log contains ${state.bytes} bytes, so its limit is not lowered from ${config.max_bytes} to ${maxBytes} bytes. To lower it, restart a server when fewer messages wait`,
  );
  return config.max_bytes;
}

/** Changes the limits of an existing bucket to those of the log. */
export async function matchBucket(
  manager: JetStreamManager,
  { replicas, maxBytes }: { readonly replicas: number; readonly maxBytes: number },
): Promise<void> {
  const existing = await manager.streams.info(objectStream);
  const { config } = existing;
  const limit = toSafeLimit(existing, maxBytes);
  if (config.num_replicas !== replicas || config.max_bytes !== limit) {
    await manager.streams.update(objectStream, {
      ...config,
      num_replicas: replicas,
      max_bytes: limit,
    });
  }
}

type StreamSettings = Parameters<JetStreamManager["streams"]["add"]>[0] & {
  readonly name: string;
  readonly max_bytes: number;
};

/** Uses as many replicas as the cluster has servers, up to the limit. A stream that has fewer gets more. */
async function prepareStream(manager: JetStreamManager, settings: StreamSettings): Promise<number> {
  const existing = await manager.streams.info(settings.name).catch((cause: unknown) => {
    if (errorCodeOf(cause) === errorCodes.noStream) {
      return undefined;
    }
    throw cause;
  });
  // A single NATS server accepts more replicas for an existing stream, but does not find the stream after a restart.
  const isAlone = existing !== undefined && existing.cluster === undefined;
  const currentReplicas = isAlone ? 1 : (existing?.config.num_replicas ?? 0);
  const mostReplicas = isAlone ? 1 : logLimits.replicas;
  for (let replicas: number = mostReplicas; replicas > 0; replicas -= 1) {
    try {
      await (existing === undefined
        ? manager.streams.add({ ...settings, num_replicas: replicas })
        : manager.streams.update(settings.name, {
            ...existing.config,
            max_bytes: toSafeLimit(existing, settings.max_bytes),
            num_replicas: Math.max(replicas, currentReplicas),
          }));
      return Math.max(replicas, currentReplicas);
    } catch (cause) {
      const canUseFewer = replicas > Math.max(currentReplicas, 1) && isTooFewServers(cause);
      if (!canUseFewer) {
        throw cause;
      }
    }
  }
  return currentReplicas;
}

/** The stream in which the object store keeps its objects. */
export const objectStream = `OBJ_${logNames.bucket}`;
