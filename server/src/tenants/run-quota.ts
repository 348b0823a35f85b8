import { messageOf, RequestError } from "../model/errors.ts";
import type { ActivityCounts } from "../runs/activity.ts";
import type { StorageReads } from "../storage/storage-use.ts";
import type { Promised } from "../storage/promised.ts";

/** The part of the store that counts runs. */
export interface CountedStore {
  readonly read: Promised<{ readonly storage: Pick<StorageReads, "countRuns"> }>;
  onActivity(
    listener: (
      activity: readonly (Pick<ActivityCounts, "runs"> & { readonly tenantId: string })[],
    ) => void,
  ): void;
}

/** Options of the limit on the runs that tenants may store. */
export interface RunQuotaOptions {
  /** Runs that a tenant may store; `undefined` for any number. */
  readonly maxRuns: number | undefined;
  /** Called for each request that is refused. */
  readonly onRefused: () => void;
  /**
   * Milliseconds from one count of all runs to the next. Deletions take effect with the next one. @defaultValue 30,000
   */
  readonly intervalMs?: number;
}

const defaultIntervalMs = 30_000;

/**
 * Limits how many runs each tenant stores. The runs are counted at the start and then regularly; the runs that are
 * stored in between are added.
 */
export class RunQuota {
  readonly #store: CountedStore;
  readonly #options: RunQuotaOptions;
  /** Runs by tenant, when they were last counted. */
  #counted = new Map<string, number>();
  /** Runs that were stored since the last count ended. */
  #added = new Map<string, number>();
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(store: CountedStore, options: RunQuotaOptions) {
    this.#store = store;
    this.#options = options;
    if (options.maxRuns !== undefined) {
      store.onActivity((activity) => {
        for (const { tenantId, runs } of activity) {
          this.#added.set(tenantId, (this.#added.get(tenantId) ?? 0) + runs);
        }
      });
      void this.#count();
    }
  }

  /**
   * Checks that a tenant may store more runs. The request that reaches the limit is still accepted, because the number
   * of its runs is not known before it is parsed.
   *
   * @throws RequestError 429: the tenant has reached the limit. The SDK recognizes `insufficient_quota`, and does not
   * send again.
   */
  admit(tenantId: string): void {
    const { maxRuns, onRefused } = this.#options;
    const runs = this.read(tenantId);
    if (maxRuns !== undefined && runs >= maxRuns) {
      onRefused();
      throw new RequestError(
        429,
        `insufficient_quota: the tenant stores ${runs.toLocaleString("en")} runs, and the limit of this server is ${maxRuns.toLocaleString("en")} (--tenant-max-runs): delete runs, or set a retention`,
      );
    }
  }

  /** The runs that a tenant stores, as far as they were counted. */
  read(tenantId: string): number {
    return (this.#counted.get(tenantId) ?? 0) + (this.#added.get(tenantId) ?? 0);
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }

  async #count(): Promise<void> {
    try {
      const counts = await this.#store.read.storage.countRuns();
      this.#counted = new Map(counts.map(({ tenantId, runs }) => [tenantId, runs]));
      // The count may already contain the runs that were stored meanwhile, so don't add them: if they counted twice,
      // runs below the limit would be refused, and so be lost.
      this.#added = new Map();
    } catch (cause) {
      // The count was too slow, or the server is closing. The previous counts and what was added to them stay valid.
      if (!this.#isClosed) {
        process.emitWarning(`the runs of the tenants could not be counted: ${messageOf(cause)}`);
      }
    }
    if (!this.#isClosed) {
      const { intervalMs = defaultIntervalMs } = this.#options;
      this.#timer = setTimeout(() => void this.#count(), intervalMs);
      this.#timer.unref();
    }
  }
}
