const kibibyte = 1_024;
const mebibyte = 1_048_576;

/**
 * The limits of the ingest log. The name contains the unit, such as Bytes or Ms, of a limit that is not a plain number.
 */
export const logLimits = {
  /** Number of NATS servers on which each message is stored. A smaller cluster uses all of its servers. */
  replicas: 3,
  /**
   * Maximum bytes of dead letters, which are messages whose runs can't be stored. Above this, such a message stays in
   * the log.
   */
  deadLetterBytes: 1_024 * mebibyte,
  /** Bytes at which a batch is divided into messages. One run alone may be larger; it becomes an object. */
  messageBytes: 512 * kibibyte,
  /** Bytes of a message that are left for its subject and its headers. */
  messageReserveBytes: 8 * kibibyte,
  /**
   * Milliseconds for which a request tries to publish its message before it fails, the time limit of one attempt, and
   * the pause between two attempts.
   */
  publishMs: 8_000,
  publishAttemptMs: 2_000,
  publishRetryMs: 200,
  /** Milliseconds after which a message without an acknowledgement is also sent on the other connection. */
  hedgeMs: 300,
  /** Maximum number of messages that are on both connections at the same time. */
  hedges: 8,
  /** Milliseconds between two checks whether another message may be sent on both connections. */
  hedgeWaitMs: 50,
  /**
   * Milliseconds after which a message without an acknowledgement is stored in the database that several servers share.
   * The request is then answered within a second, which includes the time for storing the message.
   */
  lateMs: 500,
  /**
   * Milliseconds for which a server keeps a message that the log has acknowledged, even if writers have stored it, and
   * between two checks whether the log was disturbed. After `quietMs` without another disturbance, the kept messages
   * are stored again.
   */
  recentMs: 10_000,
  recentCheckMs: 1_000,
  quietMs: 5_000,
  /** Maximum bytes of the messages that a server keeps in order to store them again. */
  recentBytes: 128 * mebibyte,
  /** Milliseconds between two checks whether both connections lead to the same NATS server. */
  serverCheckMs: 5_000,
  /** Maximum of `serverCheckMs`, which doubles while no other NATS server answers. */
  maxServerCheckMs: 300_000,
  /**
   * Milliseconds within which a NATS server must accept a connection, and between two pings. `pings` is the number of
   * unanswered pings after which a connection counts as lost.
   */
  connectMs: 2_000,
  pingMs: 1_000,
  pings: 2,
  /**
   * The share of the log's size limit at which servers refuse runs, because the log is full. NATS itself must not
   * refuse a message: when one of its servers has deleted less than the others, it would refuse what they store, and
   * then count the positions of messages differently (seen with NATS 2.9.10). The log deletes by position, so that
   * server would delete messages that wait, and they would be lost if it became leader.
   */
  fullShare: 0.75,
  /** Seconds after which clients may repeat a request when the log is full, and when it can't be reached. */
  fullRetrySeconds: 5,
  awayRetrySeconds: 2,
  /** Milliseconds for which the log recognizes a message that is published again. */
  duplicateMs: 120_000,
  /**
   * Milliseconds after which a message that was not acknowledged is delivered again, to any writer. The runs of a
   * writer that was killed can't be read until then.
   */
  ackWaitMs: 5_000,
  /** Milliseconds between two reports to the log that extend `ackWaitMs` while a commit takes long. */
  extendMs: 1_500,
  /** Maximum number of messages that all writers together apply at the same time. */
  pendingAcks: 1_000,
  /** Messages that a writer receives at once, and the number of loops that receive and apply messages in parallel. */
  fetchMessages: 32,
  loops: 2,
  /**
   * Milliseconds for which a writer waits for a new message before it sends another request, and for messages that the
   * log already has.
   */
  waitMs: 2_000,
  noWaitMs: 1_000,
  /** Runs and bytes of messages that are applied in one transaction. */
  groupRecords: 2_000,
  groupBytes: 8 * mebibyte,
  /** Deliveries of a message whose runs can't be stored, before it becomes a dead letter. */
  attempts: 6,
  /**
   * Deliveries after which a message becomes a dead letter without another attempt, because it probably crashes every
   * writer that tries to store it.
   */
  deliveries: 50,
  /** Milliseconds between two searches for messages that the log does not deliver. */
  skippedMs: 5_000,
  /** Milliseconds after which a failed message is delivered again: doubled with each delivery. */
  retryMs: 250,
  retryMaxMs: 8_000,
  /**
   * Milliseconds after which an unavailable store or log is tried again: doubled with each failure, up to `awayMaxMs`.
   */
  awayMs: 250,
  awayMaxMs: 5_000,
  /** Number of dead letters that are listed by default. */
  listedLetters: 1_000,
  /** Maximum number of characters of the reason in a dead letter. */
  reasonChars: 1_000,
  /**
   * Milliseconds for which an object is kept after its message was applied, because the acknowledgement may get lost:
   * the message is then delivered once more.
   */
  objectGraceMs: 90_000,
  /** Milliseconds after which an object without a message is deleted, and between two searches for such objects. */
  orphanMs: 3_600_000,
  /** Milliseconds between two rounds in which a writer deletes the objects of stored messages. */
  maintainMs: 10_000,
  /** Milliseconds after which the state of the log is read again. */
  stateMs: 2_000,
  /** Milliseconds after which a state that could not be read again counts as unknown. */
  staleMs: 15_000,
  /** Milliseconds within which the log must be reached at the start, and a call of its API must be answered. */
  startMs: 15_000,
  callMs: 5_000,
  /** Milliseconds for which a process that ends waits until its last acknowledgements are sent. */
  flushMs: 2_000,
} as const;

/**
 * The names of the streams, subjects and buckets of the log. All servers and writers of a cluster use the same ones.
 */
export const logNames = {
  stream: "MILLRACE_INGEST",
  subject: "millrace.ingest.batches",
  consumer: "millrace-writers",
  deadStream: "MILLRACE_DEAD_LETTERS",
  deadSubject: "millrace.ingest.dead",
  deadHeader: "Millrace-Dead-Letter",
  bucket: "millrace-large",
} as const;
