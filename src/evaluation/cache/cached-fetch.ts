import { AsyncLocalStorage } from "node:async_hooks";
import { Client, ValidationError } from "../../main/index.ts";
import { checkKeys } from "../../model/index.ts";
import { rowContexts } from "../rows/row-context.ts";
import { Warnings } from "../warnings.ts";
import { readCacheOption } from "./cache-options.ts";
import type { CacheSettings } from "./cache-options.ts";
import { RequestCache } from "./request-cache.ts";
import type { Redact } from "./stored-body.ts";

/** Options of {@link cachedFetch}. */
export interface CachedFetchOptions extends CacheSettings {
  /**
   * The client whose option `redact` is applied to what is stored.
   *
   * @defaultValue a client that the environment configures
   */
  readonly client?: Client | undefined;
}

/**
 * Key of a property that marks the functions that {@link cachedFetch} returns. Every copy of this package uses the same
 * key.
 */
const cachedKey = Symbol.for("millrace.cachedFetch");
/**
 * Key of a property that marks requests of Millrace's own client, which uses `fetch` if it can't use worker threads.
 */
const ownRequestKey = Symbol.for("millrace.ownRequest");

/**
 * Returns a `fetch` that records responses in files, and replays them. Without `mode` and `folder`, it records and
 * replays only within the rows of an evaluation with the option `cache`, and sends all other requests unchanged.
 *
 * `evaluate` replaces the global `fetch` with such a function while it runs, and `millrace eval` does so before it
 * loads a file. If a model API client is created earlier, pass such a function to it, because the client keeps the
 * `fetch` that was global when it was created.
 *
 * @param fetch - sends the requests that are not replayed. By default `globalThis.fetch` at the time of each request.
 * @throws `ValidationError` if an argument is not valid.
 */
export function cachedFetch(
  fetch?: typeof globalThis.fetch,
  options: CachedFetchOptions = {},
): typeof globalThis.fetch {
  const untyped: unknown = fetch;
  if (untyped !== undefined && typeof untyped !== "function") {
    throw new ValidationError(
      "cachedFetch: the first argument must be a fetch function, or undefined for the global one",
    );
  }
  checkKeys<CachedFetchOptions>(
    options,
    { mode: 1, folder: 1, client: 1 },
    { subject: "cachedFetch", error: ValidationError },
  );
  const { mode, folder, client } = options;
  const ownCache =
    mode === undefined && folder === undefined
      ? undefined
      : createCache({ mode, folder }, client?.redact.bind(client));
  const globalAtStart = globalThis.fetch;
  const cachedFunction: typeof globalThis.fetch = (...args) => {
    const currentFetch = fetch ?? globalThis.fetch;
    // The program may have made this function its global `fetch`.
    const targetFetch = currentFetch === cachedFunction ? globalAtStart : currentFetch;
    const context = rowContexts.getStore();
    const cache = ownCache ?? context?.cache;
    if (cache === undefined || sendingScope.getStore() === true || isOwnRequest(args)) {
      return targetFetch(...args);
    }
    return cache.send(
      (...sent) => sendingScope.run(true, () => targetFetch(...sent)),
      args,
      context,
    );
  };
  Object.defineProperty(cachedFunction, cachedKey, { value: true });
  Object.defineProperty(cachedFunction, "name", { value: "fetch", configurable: true });
  return cachedFunction;
}

function createCache(
  settings: CacheSettings,
  redact: Redact = createEnvironmentRedaction(),
): RequestCache {
  const warnings = new Warnings();
  const warn = (message: string): void => {
    const { length } = warnings.list;
    warnings.add(message);
    if (warnings.list.length > length) {
      process.emitWarning(message, "MillraceWarning");
    }
  };
  return new RequestCache({ ...readCacheOption(settings, "cachedFetch"), redact, warn });
}

/**
 * Creates a function that applies the redaction rules from environment variables. The client is closed immediately,
 * because it is needed only for its rules.
 */
function createEnvironmentRedaction(): Redact {
  const client = new Client();
  const closed = client.close();
  return async (value) => {
    await closed;
    return client.redact(value);
  };
}

const isOwnRequest = ([, init]: readonly unknown[]): boolean =>
  typeof init === "object" && init !== null && ownRequestKey in init;

/**
 * True in the asynchronous context in which a cache sends a request, so that a nested function of {@link cachedFetch}
 * does not cache the request again.
 */
const sendingScope = findSendingScope();

function findSendingScope(): AsyncLocalStorage<boolean> {
  const key = Symbol.for("millrace.evaluation.requests");
  const shared: unknown = Reflect.get(globalThis, key);
  if (shared instanceof AsyncLocalStorage) {
    return shared as AsyncLocalStorage<boolean>;
  }
  const storage = new AsyncLocalStorage<boolean>();
  Reflect.set(globalThis, key, storage);
  return storage;
}

/** Number of running evaluations that need the global `fetch` to be replaced. */
let evaluationCount = 0;
let restoreFetch: (() => void) | undefined;

/**
 * Replaces the global `fetch` with a cached one. The returned function restores the original when the last evaluation
 * has ended.
 */
export function installCachedFetch(): () => void {
  evaluationCount += 1;
  if (restoreFetch === undefined && !(cachedKey in globalThis.fetch)) {
    const original = globalThis.fetch;
    const cachedFunction = cachedFetch();
    globalThis.fetch = cachedFunction;
    restoreFetch = () => {
      // If other code has replaced the global `fetch` in the meantime, its function stays. It may call the cached one,
      // which sends requests unchanged outside of a row.
      if (globalThis.fetch === cachedFunction) {
        globalThis.fetch = original;
      }
    };
  }
  return () => {
    evaluationCount -= 1;
    if (evaluationCount === 0) {
      restoreFetch?.();
      restoreFetch = undefined;
    }
  };
}
