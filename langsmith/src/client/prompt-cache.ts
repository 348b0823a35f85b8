import { createUnsupportedError } from "../unsupported.ts";

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

const promptCacheAdvice =
  "The client caches prompts itself. Configure it with the environment variables MILLRACE_PROMPT_TTL_MS and MILLRACE_MAX_CACHED_PROMPTS, and read its counts from client.millrace.stats().prompts.";

/** Not supported: the client has its own cache of prompts. */
// oxlint-disable-next-line typescript/no-extraneous-class -- programs call it with `new`
export class PromptCache {
  constructor(_config: CacheConfig = {}) {
    throw createUnsupportedError("PromptCache", promptCacheAdvice);
  }
}

/** Not supported. */
export function configureGlobalPromptCache(_config: CacheConfig = {}): never {
  throw createUnsupportedError("configureGlobalPromptCache", promptCacheAdvice);
}

/** Not supported: each member throws. */
export const promptCacheSingleton: PromptCache = new Proxy(
  Object.create(PromptCache.prototype) as PromptCache,
  {
    get: (target, key): unknown => {
      // Promises, consoles and test frameworks read these members of any object.
      if (
        typeof key === "symbol" ||
        key === "then" ||
        key === "toJSON" ||
        key in Object.prototype
      ) {
        return Reflect.get(target, key);
      }
      throw createUnsupportedError(`promptCacheSingleton.${key}`, promptCacheAdvice);
    },
  },
);
