import { RequestError } from "../../model/errors.ts";

/** What the pool needs of a session. */
export interface PooledSession {
  /** False once the connection of the session was lost or closed. */
  readonly isUsable: boolean;
  close(): Promise<void>;
}

/** Limits of a pool of database sessions. */
export interface PoolLimits {
  /** Maximum number of open sessions. */
  readonly size: number;
  /** Maximum number of calls that wait for a session. */
  readonly maxWaiting: number;
  /** The longest that a call waits for a session, in milliseconds. */
  readonly waitMs: number;
  /** Milliseconds after which a session is replaced, so that the memory of its connection stays bounded. */
  readonly sessionMs: number;
}

/** The state of a pool: its open sessions, those that are in use, and the calls that wait for one. */
export interface PoolCounts {
  readonly open: number;
  readonly busy: number;
  readonly waiting: number;
}

interface OpenSession<Session> {
  readonly session: Session;
  /** When the session is replaced, in milliseconds since the epoch. */
  readonly untilMs: number;
}

/** A call that waits for a session. */
interface Waiter<Session> {
  readonly resolve: (session: OpenSession<Session>) => void;
  readonly reject: (cause: unknown) => void;
  readonly timer: NodeJS.Timeout;
}

/** Sessions with connections that are opened on demand, each used by one call at a time. */
export class SessionPool<Session extends PooledSession> {
  readonly #open: () => Promise<Session>;
  readonly #limits: PoolLimits;
  readonly #idle: OpenSession<Session>[] = [];
  readonly #waiting: Waiter<Session>[] = [];
  /** Sessions that are open or being opened. */
  #openCount = 0;
  #busyCount = 0;
  #isClosed = false;
  #onDrained: (() => void) | undefined;

  constructor(open: () => Promise<Session>, limits: PoolLimits) {
    this.#open = open;
    this.#limits = limits;
  }

  get counts(): PoolCounts {
    return { open: this.#openCount, busy: this.#busyCount, waiting: this.#waiting.length };
  }

  /**
   * Calls a function with a session. Waits for one if all are in use.
   *
   * @throws RequestError 503: too many calls wait, the wait took too long, or the pool is closed.
   */
  async use<Result>(call: (session: Session) => Promise<Result>): Promise<Result> {
    const opened = await this.#acquire();
    this.#busyCount += 1;
    try {
      return await call(opened.session);
    } finally {
      this.#busyCount -= 1;
      this.#release(opened);
    }
  }

  /** Completes running calls, refuses waiting ones, and closes all sessions. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const { reject, timer } of this.#waiting.splice(0)) {
      clearTimeout(timer);
      reject(createClosingError());
    }
    const closing = this.#idle.splice(0).map(({ session }) => this.#end(session));
    await Promise.all(closing);
    if (this.#openCount > 0) {
      await new Promise<void>((resolve) => {
        this.#onDrained = resolve;
      });
    }
  }

  async #acquire(): Promise<OpenSession<Session>> {
    if (this.#isClosed) {
      throw createClosingError();
    }
    for (let idle = this.#idle.pop(); idle !== undefined; idle = this.#idle.pop()) {
      if (idle.session.isUsable && Date.now() < idle.untilMs) {
        return idle;
      }
      void this.#end(idle.session);
    }
    if (this.#openCount < this.#limits.size) {
      return this.#openOne();
    }
    return this.#wait();
  }

  async #openOne(): Promise<OpenSession<Session>> {
    this.#openCount += 1;
    try {
      return { session: await this.#open(), untilMs: Date.now() + this.#limits.sessionMs };
    } catch (cause) {
      this.#openCount -= 1;
      this.#openForNext();
      this.#reportDrained();
      throw cause;
    }
  }

  #wait(): Promise<OpenSession<Session>> {
    const { maxWaiting, waitMs } = this.#limits;
    if (this.#waiting.length >= maxWaiting) {
      throw new RequestError(
        503,
        `${maxWaiting} requests already wait for a connection to the database; retry later, or send fewer at once`,
        1,
      );
    }
    return new Promise((resolve, reject) => {
      const waiter: Waiter<Session> = {
        resolve,
        reject,
        timer: setTimeout(() => {
          this.#waiting.splice(this.#waiting.indexOf(waiter), 1);
          reject(
            new RequestError(
              503,
              `no connection to the database was free within ${waitMs} ms; retry later`,
              1,
            ),
          );
        }, waitMs),
      };
      this.#waiting.push(waiter);
    });
  }

  #release(opened: OpenSession<Session>): void {
    const { session, untilMs } = opened;
    if (this.#isClosed || !session.isUsable || Date.now() >= untilMs) {
      void this.#end(session).then(() => this.#openForNext());
      return;
    }
    const next = this.#waiting.shift();
    if (next === undefined) {
      this.#idle.push(opened);
    } else {
      clearTimeout(next.timer);
      next.resolve(opened);
    }
  }

  /** Opens a session for the call that waits longest, in place of a session that has ended. */
  #openForNext(): void {
    if (this.#openCount >= this.#limits.size || this.#isClosed) {
      return;
    }
    const next = this.#waiting.shift();
    if (next !== undefined) {
      clearTimeout(next.timer);
      this.#openOne().then(next.resolve, next.reject);
    }
  }

  async #end(session: Session): Promise<void> {
    try {
      await session.close();
    } finally {
      this.#openCount -= 1;
      this.#reportDrained();
    }
  }

  #reportDrained(): void {
    if (this.#openCount === 0) {
      this.#onDrained?.();
    }
  }
}

const createClosingError = (): RequestError => new RequestError(503, "the server is closing");
