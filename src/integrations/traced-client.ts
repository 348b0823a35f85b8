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

/** What the function that wraps a client passes on, beside the client. */
interface Wrapping {
  /** The name of the function, for errors. */
  readonly wrapperName: string;
  /** An expression that creates a client, for errors. */
  readonly example: string;
  readonly api: ProviderName;
  readonly options: TraceClientOptions;
  /** Adds to the function that sends the requests what the library needs. */
  readonly adapt?: (fetch: typeof globalThis.fetch) => typeof globalThis.fetch;
}

/** The options that {@link TraceClientOptions} has. */
const optionNames = ["client", "name", "metadata"];

/**
 * Replaces the function with which a client sends its requests. The client stays the same object with the same members, and
 * the clients that its `withOptions` creates take the function over.
 *
 * @throws {@link OptionError} `client` is no client of the library, or an option is unknown.
 */
export function traceRequests(
  client: ModelClient,
  { wrapperName, example, api, options, adapt = (fetch) => fetch }: Wrapping,
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
    // Servers with the same API may be at addresses that don't tell.
    providers.push({ baseURL: client.baseURL, api });
  }
  const traced = tracedFetch(fetch, { ...options, providers });
  // A client that is wrapped already has a traced function, which stays as it is.
  if (traced === fetch) {
    return;
  }
  if (!Reflect.set(client, "fetch", tracedFetch(adapt(fetch), { ...options, providers }))) {
    throw new OptionError(
      `${wrapperName} can't change this client, because it is frozen. Pass fetch: tracedFetch() of "millrace/fetch" when you create it.`,
    );
  }
}

/** @throws {@link OptionError} an option is unknown. */
export function checkClientOptions(wrapperName: string, options: object): void {
  for (const name of Object.keys(options)) {
    if (!optionNames.includes(name)) {
      throw new OptionError(
        `${wrapperName} has no option "${name}". Its options are ${optionNames.join(", ")}.`,
      );
    }
  }
}

/** The member `fetch` of a client. The types of the libraries declare it as private. */
function readFetch(client: unknown): typeof globalThis.fetch | undefined {
  const fetch: unknown =
    typeof client === "object" && client !== null ? Reflect.get(client, "fetch") : undefined;
  return typeof fetch === "function" ? (fetch as typeof globalThis.fetch) : undefined;
}
