// What programs outside the server learn about the log. These types are published, so they use no other ones.

/** The ingest log of a running server. */
export interface OpenedLog {
  /** Its address, without credentials. */
  readonly address: string;
  /** NATS servers that have stored a run when it counts as received. */
  readonly replicas: number;
}

/** What waits in the log, and what it holds. */
export interface LogState {
  /** Messages that are not applied yet, and their bytes. */
  readonly waitingMessages: number;
  readonly waitingBytes: number;
  readonly maxBytes: number;
  /** Messages that writers are applying. */
  readonly inWork: number;
  /** Seconds since the oldest message arrived that is not applied yet; 0 if all are applied. */
  readonly lagSeconds: number;
  readonly deadLetters: number;
  /** Bytes of runs that are too large for a message. */
  readonly objectBytes: number;
  /** Servers that hold each message. */
  readonly replicas: number;
}

/** A message that could not be applied, without its content. */
export interface DeadLetter {
  /** The number by which the dead letter can be replayed. */
  readonly sequence: number;
  /** ISO time at which the message was given up. */
  readonly time: string;
  /** `null` if the message could not be read. */
  readonly tenantId: string | null;
  readonly reason: string;
  readonly bytes: number;
}
