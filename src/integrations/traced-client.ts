import { OptionError } from "../main/index.ts";
import { tracedFetch } from "./fetch/index.ts";
import type { ProviderAddress, ProviderName, TracedFetchOptions } from "./fetch/index.ts";

/** Options for recording the calls of a client. */
export type TraceClientOptions = Pick<TracedFetchOptions, "client" | "name" | "metadata">;

/** A client of a model's API that sends its requests with the function in its member `fetch`. */
export interface ModelClient {
  readonly baseURL: string;
  withOptions(options: object): unknown;
}

/** Settings of the function that wraps a client. */
interface WrapperSettings {
  /** The name of the function, for errors. */
  readonly wrapperName: string;
  /** An expression that creates a client, for errors. */
  readonly example: string;
  readonly api: ProviderName;
  readonly options: TraceClientOptions;
  /** Wraps the function that sends the requests, if the library needs that. */
  readonly adapt?: (fetch: typeof globalThis.fetch) => typeof globalThis.fetch;
}

/** The names of the options in {@link TraceClientOptions}. */
const optionNames = ["client", "name", "metadata"];

/**
 * Replaces the function with which a client sends its requests. The client stays the same object. The clients that its
 * `withOptions` creates use the same function.
 *
 * @throws {@link OptionError} if `client` is not a client of the library, or an option is unknown.
 */
export function traceRequests(
  client: ModelClient,
  { wrapperName, example, api, options, adapt = (fetch) => fetch }: WrapperSettings,
): void {
  checkClientOptions(wrapperName, options);
  const fetch = readFetch(client);
  if (fetch === undefined) {
    throw new OptionError(
      `${wrapperName} expects a client such as ${example} as its first argument.`,
    );
  }
  const providers: (ProviderName | ProviderAddress)[] = [api];
  if (URL.canParse(client.baseURL)) {
    // A server with the same API may have an address whose path alone would not be recognized.
    providers.push({ baseURL: client.baseURL, api });
  }
  const traced = tracedFetch(fetch, { ...options, providers });
  // The client was wrapped before: its function is traced already, and is not replaced.
  if (traced === fetch) {
    return;
  }
  if (!Reflect.set(client, "fetch", tracedFetch(adapt(fetch), { ...options, providers }))) {
    throw new OptionError(
      `${wrapperName} can't change this client, because it is frozen. Pass fetch: tracedFetch() of "millrace/fetch" when you create it.`,
    );
  }
}

/** @throws {@link OptionError} if an option is unknown. */
export function checkClientOptions(wrapperName: string, options: object): void {
  for (const name of Object.keys(options)) {
    if (!optionNames.includes(name)) {
      throw new OptionError(
        `${wrapperName} has no option "${name}". Its options are ${optionNames.join(", ")}.`,
      );
    }
  }
}

/** Reads the member `fetch` of a client, which the types of the libraries declare as private. */
function readFetch(client: unknown): typeof globalThis.fetch | undefined {
  const fetch: unknown =
    typeof client === "object" && client !== null ? Reflect.get(client, "fetch") : undefined;
  return typeof fetch === "function" ? (fetch as typeof globalThis.fetch) : undefined;
}
