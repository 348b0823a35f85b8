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

/** Marks functions that {@link cachedFetch} returned, including those of another copy of this package. */
const cachedKey = Symbol.for("millrace.cachedFetch");
/** Marks requests of Millrace's own client, which sends them with `fetch` where it can't use worker threads. */
const ownRequestKey = Symbol.for("millrace.ownRequest");

/**
 * Returns a `fetch` that records the responses to requests as files, and replays them. Without `mode` and `folder` it does
 * so only within the rows of an evaluation with the option `cache`, and passes all other requests on.
 *
 * `evaluate` replaces the global `fetch` by such a function while it runs, and `millrace eval` before it loads a file. Pass
 * one to the client of a model that was created earlier, because it keeps the `fetch` of that time.
 *
 * @param fetch - By default `globalThis.fetch`, as it is when a request is sent.
 * @throws `ValidationError`: an argument is not valid.
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
  const own =
    mode === undefined && folder === undefined
      ? undefined
      : createCache({ mode, folder }, client?.redact.bind(client));
  const globalAtStart = globalThis.fetch;
  const cached: typeof globalThis.fetch = (...args) => {
    const current = fetch ?? globalThis.fetch;
    // The program may have made this function its global `fetch`.
    const target = current === cached ? globalAtStart : current;
    const context = rowContexts.getStore();
    const cache = own ?? context?.cache;
    if (cache === undefined || calls.getStore() === true || isOwnRequest(args)) {
      return target(...args);
    }
    return cache.send((...sent) => calls.run(true, () => target(...sent)), args, context);
  };
  Object.defineProperty(cached, cachedKey, { value: true });
  Object.defineProperty(cached, "name", { value: "fetch", configurable: true });
  return cached;
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

/** Applies the redaction rules that the environment configures. The client is closed at once: it only reads the rules. */
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

/** Set while a cache sends a request, so that a nested function of {@link cachedFetch} does not cache it a second time. */
const calls = findCalls();

function findCalls(): AsyncLocalStorage<boolean> {
  const key = Symbol.for("millrace.evaluation.requests");
  const shared: unknown = Reflect.get(globalThis, key);
  if (shared instanceof AsyncLocalStorage) {
    return shared as AsyncLocalStorage<boolean>;
  }
  const storage = new AsyncLocalStorage<boolean>();
  Reflect.set(globalThis, key, storage);
  return storage;
}

/** Number of evaluations that need the global `fetch` to be cached. */
let users = 0;
let restore: (() => void) | undefined;

/** Makes the global `fetch` a cached one, until the returned function is called. */
export function installCachedFetch(): () => void {
  users += 1;
  if (restore === undefined && !(cachedKey in globalThis.fetch)) {
    const original = globalThis.fetch;
    const cached = cachedFetch();
    globalThis.fetch = cached;
    restore = () => {
      // Another function may have replaced it meanwhile and call it. It stays then: outside of a row it passes requests on.
      if (globalThis.fetch === cached) {
        globalThis.fetch = original;
      }
    };
  }
  return () => {
    users -= 1;
    if (users === 0) {
      restore?.();
      restore = undefined;
    }
  };
}
