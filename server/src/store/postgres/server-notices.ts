import { randomUUID } from "node:crypto";
import { messageOf } from "../../model/errors.ts";
import type { Activity } from "../../runs/activity.ts";
import type { PostgresConnection } from "../../storage/postgres/postgres-connection.ts";

/** What a server reports to the other servers of its database. */
export interface Notice {
  /** Counts of the runs that it stored. */
  readonly activity?: readonly Activity[];
  /** Whether caches of the other servers may be out of date. */
  readonly hasChanged?: boolean;
}

interface NoticeListeners {
  readonly onNotice: (notice: Notice) => void;
  /** Called when this server becomes the leader. */
  readonly onLeader: () => void;
}

/** Options of the notices that the servers of one database send each other. */
export interface NoticeOptions {
  /** Milliseconds for which activity is collected before it is sent. */
  readonly collectMs?: number;
  /** Milliseconds between attempts to connect, and to become the leader. */
  readonly retryMs?: number;
  /**
   * Whether this process may become the leader. Must be false for a process that is not a server, because it would not
   * do the leader's work.
   */
  readonly canLead?: boolean;
}

const defaultOptions: Required<NoticeOptions> = { collectMs: 250, retryMs: 2_000, canLead: true };

const channel = "millrace_notices";

/** PostgreSQL sends notices of up to 8,000 bytes. */
const maxNoticeBytes = 7_500;

/** Maximum number of counts that wait to be sent. Further counts are dropped, because only live views use them. */
const maxWaitingActivity = 10_000;

/** The advisory lock of the leader, which holds it until its connection ends. */
const leaderLock = 7_239_440_002;

/**
 * A connection on which the servers of a database notify each other (LISTEN and NOTIFY), so that live views show what
 * all of them store. The server whose connection also holds a lock is the leader: it applies rules, evaluates alerts
 * and sends webhooks. If a server ends, the database releases its lock, and another one becomes the leader.
 *
 * Notices may be lost while a connection is down. No stored data depends on them.
 */
export class ServerNotices {
  readonly #connect: () => Promise<PostgresConnection>;
  readonly #listeners: NoticeListeners;
  readonly #options: Required<NoticeOptions>;
  readonly #id = randomUUID();
  #connection: PostgresConnection | undefined;
  #waitingActivity: Activity[] = [];
  #hasChanged = false;
  #sendTimer: NodeJS.Timeout | undefined;
  #leaderTimer: NodeJS.Timeout | undefined;
  #isLeader = false;
  #isClosed = false;
  #hasWarned = false;
  /** The current attempt to connect or to become the leader. */
  #attempt: Promise<void> = Promise.resolve();
  /** The last statement. The statements of the connection run one after another. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(
    connect: () => Promise<PostgresConnection>,
    listeners: NoticeListeners,
    options: NoticeOptions = {},
  ) {
    this.#connect = connect;
    this.#listeners = listeners;
    this.#options = { ...defaultOptions, ...options };
  }

  get isLeader(): boolean {
    return this.#isLeader && this.#connection?.isUsable === true;
  }

  /** Begins to listen. Resolves once the first attempt has succeeded or failed. */
  start(): Promise<void> {
    this.#attempt = this.#keepConnected();
    return this.#attempt;
  }

  sendActivity(activity: readonly Activity[]): void {
    const capacity = maxWaitingActivity - this.#waitingActivity.length;
    this.#waitingActivity.push(...activity.slice(0, capacity));
    this.#scheduleSend(this.#options.collectMs);
  }

  /** Reports that caches of other servers may be out of date. */
  sendChange(): void {
    this.#hasChanged = true;
    this.#scheduleSend(0);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#sendTimer);
    clearTimeout(this.#leaderTimer);
    await this.#attempt;
    await this.#last.catch(() => undefined);
    await this.#connection?.close();
  }

  async #keepConnected(): Promise<void> {
    if (this.#isClosed) {
      return;
    }
    try {
      if (this.#connection?.isUsable !== true) {
        this.#isLeader = false;
        await this.#listen();
      }
      await this.#tryToLead();
      this.#hasWarned = false;
    } catch (cause) {
      if (!this.#hasWarned) {
        this.#hasWarned = true;
        process.emitWarning(
          `this server can't notify the other servers of its database at the moment: ${messageOf(cause)}`,
        );
      }
    }
    if (!this.#isClosed) {
      clearTimeout(this.#leaderTimer);
      this.#leaderTimer = setTimeout(() => {
        this.#attempt = this.#keepConnected();
      }, this.#options.retryMs);
      this.#leaderTimer.unref();
    }
  }

  async #listen(): Promise<void> {
    const connection = await this.#connect();
    connection.onNotification(
      (name, payload) => {
        if (name === channel) {
          this.#receive(payload);
        }
      },
      () => {
        this.#isLeader = false;
      },
    );
    this.#connection = connection;
    await this.#run(() => connection.exec(`LISTEN ${channel}`));
    // Notices may have been missed until now.
    this.#listeners.onNotice({ hasChanged: true });
  }

  async #tryToLead(): Promise<void> {
    const connection = this.#connection;
    if (connection === undefined || this.#isLeader || !this.#options.canLead) {
      // The statement detects a lost connection even if the network does not report it.
      await this.#run(async () => connection?.exec("SELECT 1"));
      return;
    }
    const { rows } = await this.#run(() =>
      connection.run({ text: `SELECT pg_try_advisory_lock(${leaderLock}) AS leads`, values: [] }),
    );
    if (rows[0]?.["leads"] === true) {
      this.#isLeader = true;
      this.#listeners.onLeader();
    }
  }

  #scheduleSend(delayMs: number): void {
    if (this.#isClosed || (this.#sendTimer !== undefined && delayMs > 0)) {
      return;
    }
    clearTimeout(this.#sendTimer);
    this.#sendTimer = setTimeout(() => {
      this.#sendTimer = undefined;
      void this.#send();
    }, delayMs);
    this.#sendTimer.unref();
  }

  async #send(): Promise<void> {
    const activity = this.#waitingActivity;
    const hasChanged = this.#hasChanged;
    this.#waitingActivity = [];
    this.#hasChanged = false;
    const connection = this.#connection;
    if (connection?.isUsable !== true) {
      return;
    }
    try {
      for (const payload of splitNotice(this.#id, { activity, hasChanged })) {
        await this.#run(() =>
          connection.run({ text: "SELECT pg_notify($1, $2)", values: [channel, payload] }),
        );
      }
    } catch {
      // The connection is lost: `keepConnected` opens another one and reports the failure.
    }
  }

  #receive(payload: string): void {
    const notice = parseNotice(payload);
    if (notice !== undefined && notice.from !== this.#id) {
      this.#listeners.onNotice(notice);
    }
  }

  #run<Result>(call: () => Promise<Result>): Promise<Result> {
    const result = this.#last.then(call, call);
    this.#last = result.catch(() => undefined);
    return result;
  }
}

/** A notice as it is sent, with the id of the server that sends it. */
interface SentNotice extends Notice {
  readonly from: string;
}

/** Splits a notice into texts that are short enough for PostgreSQL to send. */
function splitNotice(senderId: string, { activity = [], hasChanged }: Notice): readonly string[] {
  const write = (part: Notice): string =>
    JSON.stringify({ from: senderId, ...part } satisfies SentNotice);
  const texts = hasChanged === true ? [write({ hasChanged })] : [];
  let part: Activity[] = [];
  for (const counts of activity) {
    const longer = write({ activity: [...part, counts] });
    if (Buffer.byteLength(longer) > maxNoticeBytes && part.length > 0) {
      texts.push(write({ activity: part }));
      part = [];
    }
    // If the counts alone are too long for a notice, they are sent without their histogram.
    const bytesAlone = Buffer.byteLength(write({ activity: [counts] }));
    part.push(bytesAlone > maxNoticeBytes ? { ...counts, latencies: [] } : counts);
  }
  return part.length === 0 ? texts : [...texts, write({ activity: part })];
}

/** Parses a notice. Anyone who may log in to the database can send notices, so a malformed one is ignored. */
function parseNotice(payload: string): SentNotice | undefined {
  try {
    const notice: unknown = JSON.parse(payload);
    const isNotice =
      typeof notice === "object" && notice !== null && "from" in notice && hasValidActivity(notice);
    return isNotice ? (notice as SentNotice) : undefined;
  } catch {
    return undefined;
  }
}

function hasValidActivity(notice: object): boolean {
  const activity: unknown = Reflect.get(notice, "activity") ?? [];
  return (
    Array.isArray(activity) &&
    activity.every(
      (counts: unknown) =>
        typeof counts === "object" &&
        counts !== null &&
        ["tenantId", "projectId"].every((name) => typeof Reflect.get(counts, name) === "string") &&
        ["runs", "traces", "errors", "tokens", "cost"].every(
          (name) => typeof Reflect.get(counts, name) === "number",
        ) &&
        Array.isArray(Reflect.get(counts, "latencies")),
    )
  );
}
