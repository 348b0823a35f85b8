// What programs outside the server can read about the log. These types are part of the published package, so they refer
// to no internal types.

/** The ingest log of a running server. */
export interface OpenedLog {
  /** Its address, without credentials. */
  readonly address: string;
  /** Number of NATS servers on which each run is stored. */
  readonly replicas: number;
}

/** The state of the log: what waits in it, and how much it may contain. */
export interface LogState {
  /** Messages whose runs are not stored in the database yet, and their bytes. */
  readonly waitingMessages: number;
  readonly waitingBytes: number;
  readonly maxBytes: number;
  /** Messages whose runs writers are storing at this moment. */
  readonly inWork: number;
  /** Seconds since the oldest of the waiting messages arrived; 0 if none waits. */
  readonly lagSeconds: number;
  readonly deadLetters: number;
  /** Bytes of runs that are too large for a message. */
  readonly objectBytes: number;
  /** Number of NATS servers on which each message is stored. */
  readonly replicas: number;
}

/** A message whose runs could not be stored, without its content. */
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
