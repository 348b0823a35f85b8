import { OptionError } from "../../main/index.ts";
import type { ExchangeFormat } from "../../main/index.ts";

/** The APIs whose calls are recognized. */
const apiNames = ["openai", "anthropic", "google"] as const;

/** A provider whose API is recognized by the paths of its calls, on any host. */
export type ProviderName = (typeof apiNames)[number];

/** A server whose API is that of a provider, at an address at which the paths alone would not be recognized. */
export interface ProviderAddress {
  /** The address that the paths of the API follow, such as `http://localhost:11434/v1`. */
  readonly baseURL: string;
  /** The provider whose API the server has. */
  readonly api: ProviderName;
}

/** A kind of call. */
interface Route {
  readonly api: ProviderName;
  /** Matches the end of a path. Only what it matches is recorded of the path. */
  readonly path: RegExp;
  readonly format: ExchangeFormat;
}

/** What precedes the path of a call of OpenAI's API: a version, or an Azure deployment. */
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

/** The path of a call below the address of a server that the caller named, without the prefix that routes require. */
const prefixes: Readonly<Record<ProviderName, string>> = {
  openai: "/v1",
  anthropic: "/v1",
  google: "",
};

/** A call of a model's API. */
export interface ApiCall {
  readonly format: ExchangeFormat;
  /** Host and the recognized part of the path. Neither query nor credentials: a key may be in them. */
  readonly url: string;
}

/** Returns what kind of call the request to an address is; `undefined` if it is not recorded, or no valid address. */
export type RecognizeCall = (address: string) => ApiCall | undefined;

/**
 * Creates a function that recognizes calls of the given providers.
 *
 * @throws `OptionError`: `providers` is not a list of names and addresses.
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
        path === undefined ? undefined : findRoute(url, prefixes[api] + path, new Set([api]));
      if (prefixed !== undefined) {
        return prefixed;
      }
    }
    return findRoute(url, url.pathname, names);
  };
  return remember((address) => (URL.canParse(address) ? recognize(new URL(address)) : undefined));
}

/** How many addresses are remembered. Programs call few, unless an id is part of them. */
const maxRemembered = 100;
const maxRememberedChars = 1_000;

/**
 * Remembers what the last addresses were, because parsing one takes several microseconds. An address with a query is not
 * remembered: a key may be in it.
 */
function remember(recognize: RecognizeCall): RecognizeCall {
  const known = new Map<string, ApiCall | undefined>();
  return (address) => {
    const call = known.get(address);
    if (call !== undefined || known.has(address)) {
      return call;
    }
    const found = recognize(address);
    if (address.length <= maxRememberedChars && !/[?@]/.test(address)) {
      if (known.size >= maxRemembered) {
        known.clear();
      }
      known.set(address, found);
    }
    return found;
  };
}

/** A JavaScript caller may pass anything. */
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
  const known = apiNames.find((api) => api === name);
  if (known === undefined) {
    throw new OptionError(`The option providers names no known API (${String(name)}); ${rule}`);
  }
  return known;
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
