import { setTimeout as sleep } from "node:timers/promises";
import { digestKey } from "../../tenants/tenant-queries.ts";
import type { TenantReads } from "../../tenants/tenant.ts";

/** A query that authorizes requests. */
export interface AuthorizationQuery {
  readonly method: keyof TenantReads;
  readonly args: readonly unknown[];
}

export interface AuthorizationLimits {
  /** Milliseconds that a request waits for the database when an earlier answer is known. */
  readonly answerMs: number;
  /** Milliseconds for which an answer is used while the database gives none. */
  readonly ageMs: number;
  /** Answers that are remembered; the one that was not used for the longest time is dropped. */
  readonly entries: number;
}

const authorizationLimits: AuthorizationLimits = {
  answerMs: 250,
  ageMs: 600_000,
  entries: 10_000,
};

interface Answer {
  /** `undefined` for a key that stopped being valid. */
  readonly value: unknown;
  /** When the database gave the answer, in milliseconds. */
  readonly atMs: number;
  /** The number of the query. Queries may be answered in another order than they began. */
  readonly sequence: number;
}

/**
 * Remembers what the database said about keys and tenants, for the time in which it does not answer: a log in front of
 * it then goes on receiving runs. While the database answers, it is asked at each request, so a key that was revoked
 * stops working at once. Without the database, a key works for as long as its last answer is used. Only what permits
 * something is remembered: an unknown key is asked for each time.
 *
 * States: present <-> away. While the database is away, one query at a time finds out when it is back, and no request
 * with a known answer waits.
 */
export class AuthorizationCache {
  readonly #ask: (query: AuthorizationQuery) => Promise<unknown>;
  readonly #limits: AuthorizationLimits;
  readonly #nowMs: () => number;
  /** By query, the least recently used first. Contains digests in place of keys. */
  readonly #answers = new Map<string, Answer>();
  #isAway = false;
  #isProbing = false;
  #sequence = 0;
  /** Once a key exists, each request needs one, whatever happens to the keys. */
  #hasKeys = false;

  /** @param ask - sends a query to the database, and repeats it while that may help */
  constructor(
    ask: (query: AuthorizationQuery) => Promise<unknown>,
    limits: Partial<AuthorizationLimits> = {},
    nowMs: () => number = () => performance.now(),
  ) {
    this.#ask = ask;
    this.#limits = { ...authorizationLimits, ...limits };
    this.#nowMs = nowMs;
  }

  /** @throws RequestError as the database, if no answer is known. */
  async read(query: AuthorizationQuery): Promise<unknown> {
    if (query.method === "hasKeys" && this.#hasKeys) {
      return true;
    }
    const name = nameOf(query);
    const known = this.#findKnown(name);
    if (known === undefined) {
      return this.#askAndRemember(query, name);
    }
    if (this.#isAway) {
      this.#probe(query, name);
      return known.value;
    }
    const answer = this.#askAndRemember(query, name);
    const timeout = new AbortController();
    try {
      const first = await Promise.race([
        answer.then((value) => ({ value })),
        sleep(this.#limits.answerMs, undefined, { signal: timeout.signal }),
      ]);
      if (first !== undefined) {
        return first.value;
      }
    } catch {
      // The database gives no answer, which the callers without a known one report.
    } finally {
      timeout.abort();
    }
    this.#isAway = true;
    this.#watch(answer);
    return known.value;
  }

  /** Asks whether the database is back, unless another query does so. */
  #probe(query: AuthorizationQuery, name: string): void {
    if (!this.#isProbing) {
      this.#watch(this.#askAndRemember(query, name));
    }
  }

  #watch(answer: Promise<unknown>): void {
    this.#isProbing = true;
    const onEnd = (): void => {
      this.#isProbing = false;
    };
    answer.then(onEnd, onEnd);
  }

  async #askAndRemember(query: AuthorizationQuery, name: string): Promise<unknown> {
    this.#sequence += 1;
    const sequence = this.#sequence;
    const value = await this.#ask(query);
    this.#isAway = false;
    this.#remember(name, { value, atMs: this.#nowMs(), sequence });
    if (query.method === "hasKeys") {
      this.#hasKeys = value === true;
    }
    return value;
  }

  #remember(name: string, answer: Answer): void {
    const previous = this.#answers.get(name);
    const isLate = previous !== undefined && previous.sequence > answer.sequence;
    // That a key is unknown is remembered only in place of an answer that permitted something: an older query, which
    // found it valid, may be answered later. Unknown keys must not use up the entries.
    if (isLate || (answer.value === undefined && previous === undefined)) {
      return;
    }
    this.#answers.delete(name);
    this.#answers.set(name, answer);
    if (this.#answers.size > this.#limits.entries) {
      const [oldest] = this.#answers.keys();
      this.#answers.delete(oldest ?? "");
    }
  }

  #findKnown(name: string): Answer | undefined {
    const answer = this.#answers.get(name);
    const isUsable =
      answer?.value !== undefined && this.#nowMs() - answer.atMs <= this.#limits.ageMs;
    return isUsable ? answer : undefined;
  }
}

const nameOf = ({ method, args }: AuthorizationQuery): string => {
  const text = args.map(String).join(" ");
  return `${method} ${method === "findByKey" ? digestKey(text) : text}`;
};
