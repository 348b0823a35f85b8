import type { FeedbackStats } from "../runs/run-feedback.ts";

/**
 * A thread is a conversation: the traces of a project whose runs have the same thread id in their metadata. Each of
 * these traces is a turn.
 */
export interface Thread {
  readonly id: string;
  readonly turnCount: number;
  /** Whether the thread has more turns than are counted; see {@link TurnPage.isTruncated}. */
  readonly isTruncated: boolean;
  /** Turns that ended with an error. */
  readonly errorCount: number;
  readonly firstStartMicros: number;
  readonly lastStartMicros: number;
  /** Usage of all turns; `null` if it is unknown. */
  readonly tokens: number | null;
  readonly cost: number | null;
  readonly lastMessage: ThreadMessage | null;
  /** Feedback on the runs that stand for the turns. */
  readonly feedback: FeedbackStats;
}

/** The beginning of a message. */
export interface ThreadMessage {
  /** Which part of the last turn contains the message. */
  readonly source: "inputs" | "outputs" | "error";
  readonly text: string;
}

export interface Turn {
  /** The run that stands for the turn: the trace's root, or else the first run that has the thread's id. */
  readonly runId: string;
  readonly traceId: string;
  readonly name: string;
  readonly runType: string;
  readonly startMicros: number;
  readonly endMicros: number | null;
  readonly hasError: boolean;
  /** Usage of the trace; `null` if it is unknown. */
  readonly tokens: number | null;
  readonly cost: number | null;
  readonly feedback: FeedbackStats;
}

/**
 * Position of a thread in the list. Threads are sorted by the block of time in which the last run of each began, the
 * latest first, and then by id.
 */
export interface ThreadPosition {
  readonly block: number;
  readonly id: string;
}

/** Selects a page of the threads of a project. A thread is a conversation: the traces that have the same thread id. */
export interface ThreadQuery {
  readonly projectId: string;
  /** Maximum number of threads. */
  readonly limit: number;
  /** Text that the ids of the threads must contain. */
  readonly text?: string;
  readonly after?: ThreadPosition;
  /** Milliseconds after which the list ends early. It then contains at least one thread, if there is one. */
  readonly withinMs: number;
}

export interface ThreadPage {
  readonly threads: readonly Thread[];
  /** Where the next page begins; absent at the end of the list. */
  readonly next?: ThreadPosition;
  /** Whether runs that the index does not cover were too many to search, so that threads or turns may be missing. */
  readonly isPartial: boolean;
}

/** Selects a page of the turns of a thread. A turn is one trace. */
export interface TurnQuery {
  readonly projectId: string;
  readonly threadId: string;
  readonly offset: number;
  readonly limit: number;
}

/** A page of the turns of a thread, in the order of their start. */
export interface TurnPage {
  readonly turns: readonly Turn[];
  /** Number of all turns of the thread; 0 if there is no such thread. */
  readonly turnCount: number;
  /** Whether only the latest turns were read, because the thread has too many. */
  readonly isTruncated: boolean;
}

/** Queries for the UI's list of threads, and for a single thread. */
export interface ThreadReads {
  /** Lists the threads of a project, the most recently active first. */
  list(tenantId: string, query: ThreadQuery): Promise<ThreadPage>;
  readTurns(tenantId: string, query: TurnQuery): Promise<TurnPage>;
}
