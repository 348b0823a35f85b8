import { OptionError } from "../../main/index.ts";
import { tracedFetch } from "../fetch/index.ts";
import type { ProviderAddress } from "../fetch/index.ts";
import { checkClientOptions } from "../traced-client.ts";
import type { TraceClientOptions } from "../traced-client.ts";

export { withRunOptions } from "../fetch/index.ts";
export type { CallRunOptions } from "../fetch/index.ts";
export type { TraceClientOptions } from "../traced-client.ts";

/** The part of the option `httpOptions` of `GoogleGenAI` that this module uses. */
interface GoogleHttpOptions {
  readonly baseUrl?: string | undefined;
  readonly fetch?: typeof globalThis.fetch | undefined;
}

/**
 * Returns options for `new GoogleGenAI()` of the package `@google/genai`. With them, the client records its calls as
 * runs: `generateContent`, streamed or not, chats, and `embedContent`, on Gemini's API and on Vertex AI. All other
 * options are unchanged. The bytes of request and response are copied as they pass. The program gets the same objects,
 * streams and errors as without this function.
 *
 * Options that this function returned may be passed again, and then record each call once. Calls over WebSockets
 * (`live`) are not recorded.
 *
 * @throws `OptionError` if `options` is not an object, or an option of `traceOptions` is unknown.
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

/** The part of undici's `Dispatcher` that `@google/genai` and this module use. */
interface Dispatcher {
  dispatch(options: object, handler: unknown): boolean;
}

/** Key of the global variable in which undici stores the dispatcher that Node's `fetch` uses. */
const globalDispatcherKey = Symbol.for("undici.globalDispatcher.1");

/**
 * Calls Node's `fetch` without undici's timeouts, because the response of a model may take longer than they allow. The
 * library disables them too, by passing a dispatcher, but not if the option `fetch` is set.
 */
const fetchWithoutTimeouts: typeof globalThis.fetch = (input, init) => {
  const globalDispatcher = findGlobalDispatcher();
  if (globalDispatcher === undefined || (init !== undefined && "dispatcher" in init)) {
    return globalThis.fetch(input, init);
  }
  const dispatcher: Dispatcher = {
    dispatch: (options, handler) =>
      (findGlobalDispatcher() ?? globalDispatcher).dispatch(
        { ...options, headersTimeout: 0, bodyTimeout: 0 },
        handler,
      ),
  };
  return globalThis.fetch(input, Object.assign({}, init, { dispatcher }));
};

function findGlobalDispatcher(): Dispatcher | undefined {
  // The first use of a class of undici makes Node load undici, which sets the global variable.
  void new Headers();
  return Reflect.get(globalThis, globalDispatcherKey) as Dispatcher | undefined;
}
