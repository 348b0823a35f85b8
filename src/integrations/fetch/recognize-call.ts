import { OptionError } from "../../main/index.ts";
import type { ExchangeFormat } from "../../main/index.ts";

/** The APIs whose calls are recognized. */
const apiNames = ["openai", "anthropic", "google"] as const;

/** A provider whose API is recognized by the paths of its calls, on any host. */
export type ProviderName = (typeof apiNames)[number];

/** A server with the API of a provider, at an address where the path alone would not be recognized. */
export interface ProviderAddress {
  /** The address that the paths of the API follow, such as `http://localhost:11434/v1`. */
  readonly baseURL: string;
  /** The provider whose API the server has. */
  readonly api: ProviderName;
}

/** A kind of call, recognized by its path. */
interface Route {
  readonly api: ProviderName;
  /** Matches the end of a path. Only the matched part of the path is recorded. */
  readonly path: RegExp;
  readonly format: ExchangeFormat;
}

/**
 * The segments before the endpoint in a URL of OpenAI's API: a version such as `/v1` or, on Azure, `/openai` or a
 * deployment.
 */
const openaiPrefix = String.raw`(?:/v\d+\w*|/openai|/deployments/[^/]+)`;

const openaiRoute = (path: string, format: ExchangeFormat): Route => ({
  api: "openai",
  path: new RegExp(`${openaiPrefix}${path}$`),
  format,
});

const routes: readonly Route[] = [
  {
    api: "openai",
    path: new RegExp(`${openaiPrefix}?/chat/completions$`),
    format: "openai.chat",
  },
  openaiRoute("/responses", "openai.responses"),
  openaiRoute("/completions", "openai.completions"),
  openaiRoute("/embeddings", "openai.embeddings"),
  openaiRoute("/images/(?:generations|edits|variations)", "openai.images"),
  openaiRoute("/audio/(?:transcriptions|translations)", "openai.transcription"),
  { api: "anthropic", path: /\/v1\/messages$/, format: "anthropic.messages" },
  // Anthropic's models on Vertex.
  {
    api: "anthropic",
    path: /\/publishers\/anthropic\/models\/[^/]+:(?:streamR|r)awPredict$/,
    format: "anthropic.messages",
  },
  {
    api: "google",
    path: /\/models\/[^/]+:(?:generateContent|streamGenerateContent)$/,
    format: "google.generate",
  },
  {
    api: "google",
    path: /\/models\/[^/]+:(?:embedContent|batchEmbedContents)$/,
    format: "google.embed",
  },
];

/**
 * Prefixes that the routes of each API require. They are prepended to the path below a server's address if the path
 * alone is not recognized.
 */
const requiredPrefixes: Readonly<Record<ProviderName, string>> = {
  openai: "/v1",
  anthropic: "/v1",
  google: "",
};

/** A call of a model's API. */
export interface ApiCall {
  readonly format: ExchangeFormat;
  /** Scheme, host and the recognized part of the path, without query and credentials, which may contain keys. */
  readonly url: string;
}

/**
 * Returns the call that a request to an address makes; `undefined` if the call is not recorded, or the address is not
 * valid.
 */
export type RecognizeCall = (address: string) => ApiCall | undefined;

/**
 * Creates a function that recognizes calls of the given providers.
 *
 * @throws `OptionError` if `providers` is not a list of names and addresses.
 */
export function createRecognition(
  providers: readonly (ProviderName | ProviderAddress)[] = apiNames,
): RecognizeCall {
  if (!isList(providers)) {
    throw new OptionError(`The option providers must be a list; ${rule}`);
  }
  const names = new Set<ProviderName>();
  const addresses: { readonly base: URL; readonly api: ProviderName }[] = [];
  for (const provider of providers) {
    if (typeof provider === "string") {
      names.add(checkName(provider));
    } else {
      addresses.push({ base: parseBase(provider), api: checkName(provider.api) });
    }
  }
  const recognize = (url: URL): ApiCall | undefined => {
    for (const { base, api } of addresses) {
      const path = readPathBelow(base, url);
      const call = path === undefined ? undefined : findRoute(url, path, new Set([api]));
      if (call !== undefined) {
        return call;
      }
      const prefixed =
        path === undefined
          ? undefined
          : findRoute(url, requiredPrefixes[api] + path, new Set([api]));
      if (prefixed !== undefined) {
        return prefixed;
      }
    }
    return findRoute(url, url.pathname, names);
  };
  return cacheResults((address) =>
    URL.canParse(address) ? recognize(new URL(address)) : undefined,
  );
}

/** Maximum number of cached addresses. Programs use few addresses, unless ids are part of them. */
const maxCachedAddresses = 100;
const maxCachedAddressLength = 1_000;

/**
 * Caches the results for addresses, because parsing an address takes several microseconds. An address with a query is
 * not cached, because it may contain a key.
 */
function cacheResults(recognize: RecognizeCall): RecognizeCall {
  const cache = new Map<string, ApiCall | undefined>();
  return (address) => {
    const call = cache.get(address);
    if (call !== undefined || cache.has(address)) {
      return call;
    }
    const newCall = recognize(address);
    if (address.length <= maxCachedAddressLength && !/[?@]/.test(address)) {
      if (cache.size >= maxCachedAddresses) {
        cache.clear();
      }
      cache.set(address, newCall);
    }
    return newCall;
  };
}

/** The type is checked at run time, because a JavaScript caller may pass anything. */
const isList = (value: unknown): boolean => Array.isArray(value);

const rule =
  'each of its entries is "openai", "anthropic", "google", or { baseURL, api } for a server with the API of one of these.';

function findRoute(
  { protocol, host }: URL,
  path: string,
  apis: ReadonlySet<ProviderName>,
): ApiCall | undefined {
  for (const route of routes) {
    const match = apis.has(route.api) ? route.path.exec(path) : null;
    if (match !== null) {
      return { format: route.format, url: `${protocol}//${host}${match[0]}` };
    }
  }
  return undefined;
}

function checkName(name: unknown): ProviderName {
  const providerName = apiNames.find((api) => api === name);
  if (providerName === undefined) {
    throw new OptionError(`The option providers names no known API (${String(name)}); ${rule}`);
  }
  return providerName;
}

function parseBase(provider: unknown): URL {
  const text: unknown =
    typeof provider === "object" && provider !== null && "baseURL" in provider
      ? provider.baseURL
      : undefined;
  if (typeof text !== "string" || !URL.canParse(text)) {
    throw new OptionError(`The option providers has an entry without a valid baseURL; ${rule}`);
  }
  return new URL(text);
}

/** Returns the part of the path that follows a server's address; `undefined` for another server. */
function readPathBelow(base: URL, url: URL): string | undefined {
  const basePath = base.pathname.replace(/\/+$/, "");
  return url.origin === base.origin && url.pathname.startsWith(`${basePath}/`)
    ? url.pathname.slice(basePath.length)
    : undefined;
}
