import { notThere } from "../not-there.ts";

/** Options of langsmith's cache of prompts. */
export interface CacheConfig {
  maxSize?: number;
  ttlSeconds?: number | null;
  refreshIntervalSeconds?: number;
}

/** Counts of langsmith's cache of prompts. */
export interface CacheMetrics {
  hits: number;
  misses: number;
  refreshes: number;
  refreshErrors: number;
}

const instead =
  "The client caches prompts by itself; the options promptTtlMs and maxCachedPrompts of millrace's Client set how, and client.millrace.stats().prompts counts.";

/** Langsmith's cache of prompts, which is not there: the client has its own. */
// oxlint-disable-next-line typescript/no-extraneous-class -- programs call it with `new`
export class PromptCache {
  constructor(_config: CacheConfig = {}) {
    throw notThere("PromptCache", instead);
  }
}

/** Sets up the cache of all clients. It is not there. */
export function configureGlobalPromptCache(_config: CacheConfig = {}): never {
  throw notThere("configureGlobalPromptCache", instead);
}
