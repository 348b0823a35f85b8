import { setTimeout as sleep } from "node:timers/promises";
import { digestKey } from "../../tenants/tenant-queries.ts";
import type { TenantReads } from "../../tenants/tenant.ts";

/** A query whose answer decides whether a request is authorized. */
export interface AuthorizationQuery {
  readonly method: keyof TenantReads;
  readonly args: readonly unknown[];
}

/** How long a cached answer about a key may be used, and how long a request waits for a new one. */
export interface AuthorizationLimits {
  /** Milliseconds that a request waits for the database when an earlier answer is known. */
  readonly answerWaitMs: number;
  /** Age up to which an answer may be used while the database does not respond, in milliseconds. */
  readonly maxAnswerAgeMs: number;
  /** Maximum number of cached answers. When there are more, the one refreshed longest ago is dropped. */
  readonly maxAnswers: number;
}

const authorizationLimits: AuthorizationLimits = {
  answerWaitMs: 250,
  maxAnswerAgeMs: 600_000,
  maxAnswers: 10_000,
};

/** A cached answer of the database. */
interface Answer {
  /** `undefined` for a key that stopped being valid. */
  readonly value: unknown;
  /** When the database gave the answer, in milliseconds. */
  readonly atMs: number;
  /** Number of the query, in the order of sending. Answers may arrive in another order. */
  readonly sequence: number;
}

/**
 * Caches the database's answers about keys and tenants, so that requests can be authorized while the database does not
 * respond; the ingest log then still accepts runs. While the database responds, each request queries it, so a revoked
 * key stops working at once. During an outage a key works until its last answer is older than `maxAnswerAgeMs`.
 * Only answers that permit something are cached: an unknown key is queried each time.
 *
 * States: available <-> away. While the database is away, one query at a time checks whether it is back, and requests
 * with a cached answer do not wait.
 */
export class AuthorizationCache {
  readonly #sendQuery: (query: AuthorizationQuery) => Promise<unknown>;
  readonly #limits: AuthorizationLimits;
  readonly #nowMs: () => number;
  /**
   * Answers by query, the one refreshed longest ago first. The names of the queries contain digests instead of keys.
   */
  readonly #answers = new Map<string, Answer>();
  #isAway = false;
  #isProbing = false;
  #sequence = 0;
  /**
   * Whether the database has reported that keys exist. From then on each request needs a key, even if all keys are
   * revoked.
   */
  #hasKeys = false;

  /** @param sendQuery - sends a query to the database, and retries it while a retry may succeed */
  constructor(
    sendQuery: (query: AuthorizationQuery) => Promise<unknown>,
    limits: Partial<AuthorizationLimits> = {},
    nowMs: () => number = () => performance.now(),
  ) {
    this.#sendQuery = sendQuery;
    this.#limits = { ...authorizationLimits, ...limits };
    this.#nowMs = nowMs;
  }

  /** @throws RequestError the query failed and no answer is cached. */
  async read(query: AuthorizationQuery): Promise<unknown> {
    if (query.method === "hasKeys" && this.#hasKeys) {
      return true;
    }
    const name = toCacheKey(query);
    const cachedAnswer = this.#findKnown(name);
    if (cachedAnswer === undefined) {
      return this.#queryAndCache(query, name);
    }
    if (this.#isAway) {
      this.#probe(query, name);
      return cachedAnswer.value;
    }
    const answer = this.#queryAndCache(query, name);
    const timeout = new AbortController();
    try {
      const firstAnswer = await Promise.race([
        answer.then((value) => ({ value })),
        sleep(this.#limits.answerWaitMs, undefined, { signal: timeout.signal }),
      ]);
      if (firstAnswer !== undefined) {
        return firstAnswer.value;
      }
    } catch {
      // The query failed, so the cached answer is used. Only callers without a cached answer report the failure.
    } finally {
      timeout.abort();
    }
    this.#isAway = true;
    this.#watch(answer);
    return cachedAnswer.value;
  }

  /** Checks whether the database is back, unless another query is already checking. */
  #probe(query: AuthorizationQuery, name: string): void {
    if (!this.#isProbing) {
      this.#watch(this.#queryAndCache(query, name));
    }
  }

  #watch(answer: Promise<unknown>): void {
    this.#isProbing = true;
    const onEnd = (): void => {
      this.#isProbing = false;
    };
    answer.then(onEnd, onEnd);
  }

  async #queryAndCache(query: AuthorizationQuery, name: string): Promise<unknown> {
    this.#sequence += 1;
    const sequence = this.#sequence;
    const value = await this.#sendQuery(query);
    this.#isAway = false;
    this.#cache(name, { value, atMs: this.#nowMs(), sequence });
    if (query.method === "hasKeys") {
      this.#hasKeys = value === true;
    }
    return value;
  }

  #cache(name: string, answer: Answer): void {
    const previous = this.#answers.get(name);
    const isLate = previous !== undefined && previous.sequence > answer.sequence;
    // An unknown key (`undefined`) is stored only in place of an earlier answer: otherwise the late answer of an older
    // query could make a revoked key valid again. Other unknown keys are not stored, because they would
    // displace useful answers.
    if (isLate || (answer.value === undefined && previous === undefined)) {
      return;
    }
    this.#answers.delete(name);
    this.#answers.set(name, answer);
    if (this.#answers.size > this.#limits.maxAnswers) {
      const [oldest] = this.#answers.keys();
      this.#answers.delete(oldest ?? "");
    }
  }

  #findKnown(name: string): Answer | undefined {
    const answer = this.#answers.get(name);
    const isUsable =
      answer?.value !== undefined && this.#nowMs() - answer.atMs <= this.#limits.maxAnswerAgeMs;
    return isUsable ? answer : undefined;
  }
}

const toCacheKey = ({ method, args }: AuthorizationQuery): string => {
  const text = args.map(String).join(" ");
  return `${method} ${method === "findByKey" ? digestKey(text) : text}`;
};
