import { OptionError } from "../../main/index.ts";
import { tracedFetch } from "../fetch/index.ts";
import type { ProviderAddress } from "../fetch/index.ts";
import { checkClientOptions } from "../traced-client.ts";
import type { TraceClientOptions } from "../traced-client.ts";

export { withRunOptions } from "../fetch/index.ts";
export type { CallRunOptions } from "../fetch/index.ts";
export type { TraceClientOptions } from "../traced-client.ts";

/** The member `httpOptions` of the options of `GoogleGenAI`, as far as it is used here. */
interface GoogleHttpOptions {
  readonly baseUrl?: string | undefined;
  readonly fetch?: typeof globalThis.fetch | undefined;
}

/**
 * Returns options for `new GoogleGenAI()` of the package `@google/genai` with which the client records its calls as runs: `generateContent`, streamed or
 * not, chats, and `embedContent`, on Gemini's API and on Vertex AI. All other options stay as they are. The bytes of
 * request and response are copied as they pass; the program gets the same objects, streams and errors as without.
 *
 * Options that were returned by this function stay as they are. Calls over WebSockets (`live`) are not recorded.
 *
 * @throws an `OptionError`: `options` is not an object, or an option of `traceOptions` is unknown.
 */
export function geminiOptions<Options extends object>(
  options: Options,
  traceOptions: TraceClientOptions = {},
): Options {
  checkClientOptions("geminiOptions", traceOptions);
  if (!isObject(options)) {
    throw new OptionError(
      'geminiOptions expects the options of GoogleGenAI as its first argument, such as { apiKey: "…" }.',
    );
  }
  const { httpOptions } = options as { readonly httpOptions?: GoogleHttpOptions };
  const providers: ("google" | ProviderAddress)[] = ["google"];
  const baseURL = httpOptions?.baseUrl;
  if (baseURL !== undefined && URL.canParse(baseURL)) {
    providers.push({ baseURL, api: "google" });
  }
  const fetch = tracedFetch(httpOptions?.fetch ?? fetchWithoutTimeouts, {
    ...traceOptions,
    providers,
  });
  return { ...options, httpOptions: { ...httpOptions, fetch } };
}

/** A JavaScript caller may pass anything. */
const isObject = (value: unknown): boolean => typeof value === "object" && value !== null;

/** A dispatcher of undici, as far as `@google/genai` and this module use it. */
interface Dispatcher {
  dispatch(options: object, handler: unknown): boolean;
}

/** The key of the dispatcher that Node's `fetch` uses, which undici keeps in a global variable. */
const globalDispatcherKey = Symbol.for("undici.globalDispatcher.1");

/**
 * Without an option `fetch`, the library passes a dispatcher to Node's `fetch` that turns undici's timeouts off, because the
 * answer of a model may take longer than they allow. With the option it does not, so this function does the same.
 */
const fetchWithoutTimeouts: typeof globalThis.fetch = (input, init) => {
  const known = findGlobalDispatcher();
  if (known === undefined || (init !== undefined && "dispatcher" in init)) {
    return globalThis.fetch(input, init);
  }
  const dispatcher: Dispatcher = {
    dispatch: (options, handler) =>
      (findGlobalDispatcher() ?? known).dispatch(
        { ...options, headersTimeout: 0, bodyTimeout: 0 },
        handler,
      ),
  };
  return globalThis.fetch(input, Object.assign({}, init, { dispatcher }));
};

function findGlobalDispatcher(): Dispatcher | undefined {
  // Node loads undici, which sets the variable, when one of its classes is used first.
  void new Headers();
  return Reflect.get(globalThis, globalDispatcherKey) as Dispatcher | undefined;
}
