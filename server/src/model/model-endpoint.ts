import { isIP } from "node:net";
import { OptionError } from "millrace/model";

/** The APIs of models, each with the path that follows its base address. */
const protocolPaths = {
  openai: "/chat/completions",
  "openai-responses": "/responses",
  anthropic: "/messages",
} as const;

export type ProtocolName = keyof typeof protocolPaths;

/** The option with which the operator configures an endpoint. */
export interface ModelEndpointOption {
  /** The name that users see: letters, digits, `-`, `_` and `.`. */
  readonly name: string;
  /**
   * The address, such as `https://api.openai.com/v1`. Prefixes, each followed by `+`, may precede the scheme: one for
   * the API (`openai`, `openai-responses` or `anthropic`), and `private` if the host name may have a private address.
   */
  readonly url: string;
  /** The key that the server sends to this endpoint, and to no other. */
  readonly apiKey?: string;
}

/** An endpoint at which models can be called. */
export interface ModelEndpoint {
  readonly name: string;
  readonly protocol: ProtocolName;
  /** The address of the call. */
  readonly url: string;
  /** Whether the host may have an address of this machine or of a private network. */
  readonly allowsPrivateAddress: boolean;
  readonly apiKey: string | undefined;
}

/** Matches names of endpoints. A name becomes a part of the name of an environment variable. */
const namePattern = /^[a-z][\w.-]{0,31}$/i;
const keyPattern = /^[\x21-\x7e]{1,4096}$/;
const maxModelEndpoints = 50;

/** The environment variable with the key of an endpoint: `MILLRACE_MODEL_KEY_` and its name in upper case. */
export const toKeyVariable = (name: string): string =>
  `MILLRACE_MODEL_KEY_${name.toUpperCase().replaceAll(/[^A-Z\d]/g, "_")}`;

/**
 * Checks the endpoints that the operator configured.
 *
 * @throws OptionError one is invalid, or two have the same name or the same variable for their key. The message
 * contains no key.
 */
export function parseModelEndpoints(
  options: readonly ModelEndpointOption[],
): readonly ModelEndpoint[] {
  if (options.length > maxModelEndpoints) {
    throw new OptionError(
      `a server can have at most ${maxModelEndpoints} model endpoints, not ${options.length}`,
    );
  }
  const namesByVariable = new Map<string, string>();
  return options.map((option) => {
    const endpoint = parseModelEndpoint(option);
    const variable = toKeyVariable(endpoint.name);
    const other = namesByVariable.get(variable);
    if (other !== undefined) {
      throw new OptionError(
        `the model endpoints ${other} and ${endpoint.name} would have the same variable for their key, ${variable}: give one of them another name`,
      );
    }
    namesByVariable.set(variable, endpoint.name);
    return endpoint;
  });
}

function parseModelEndpoint({ name, url: address, apiKey }: ModelEndpointOption): ModelEndpoint {
  if (typeof name !== "string" || !namePattern.test(name)) {
    throw new OptionError(
      `the name of a model endpoint begins with a letter and has at most 32 letters, digits, "-", "_" and ".", unlike ${JSON.stringify(name)}`,
    );
  }
  if (apiKey !== undefined && !(typeof apiKey === "string" && keyPattern.test(apiKey))) {
    throw new OptionError(
      `the key of the model endpoint ${name} must be a text without spaces or control characters`,
    );
  }
  const [, words = "", plainAddress = ""] =
    /^((?:[a-z-]+\+)*)(https?:\/\/.*)$/is.exec(typeof address === "string" ? address : "") ?? [];
  const prefixes = words
    .toLowerCase()
    .split("+")
    .filter((word) => word !== "");
  const names = prefixes.filter((word) => word !== "private");
  if (!URL.canParse(plainAddress) || names.length > 1 || !names.every(isProtocolName)) {
    throw new OptionError(
      `the address of the model endpoint ${name} must be an http or https URL, such as https://api.openai.com/v1; "openai+", "openai-responses+", "anthropic+" and "private+" may precede it`,
    );
  }
  const url = new URL(plainAddress);
  if (url.username !== "" || url.password !== "" || url.hash !== "") {
    throw new OptionError(
      `the address of the model endpoint ${name} must have no user name, password or fragment: set the key in ${toKeyVariable(name)}`,
    );
  }
  const protocol = names[0] ?? guessProtocol(url);
  // Allow a private address without TLS, because only hosts in the operator's own network have a reason to use http.
  const isPrivate =
    prefixes.includes("private") || url.protocol === "http:" || isPrivateName(url.hostname);
  return {
    name,
    protocol,
    url: addPath(url, protocol),
    allowsPrivateAddress: isPrivate,
    apiKey,
  };
}

const isProtocolName = (word: string): word is ProtocolName => Object.hasOwn(protocolPaths, word);

/** Guesses the API from the address of an endpoint whose option names no API. */
function guessProtocol({ hostname, pathname }: URL): ProtocolName {
  if (/(?:^|\.)anthropic\.com$/.test(hostname) || /\/messages\/?$/.test(pathname)) {
    return "anthropic";
  }
  return /\/responses\/?$/.test(pathname) ? "openai-responses" : "openai";
}

/** Appends the path of the call, unless the address ends with it. Anthropic's base address often has no version. */
function addPath(url: URL, protocol: ProtocolName): string {
  const path = protocolPaths[protocol];
  const base = url.pathname.replace(/\/+$/, "");
  const version = protocol === "anthropic" && !/\/v\d+$/.test(base) ? "/v1" : "";
  const completed = new URL(url);
  completed.pathname = base.endsWith(path) ? base : base + version + path;
  return completed.href;
}

/**
 * Whether the host is an IP address, or a name that only a private network uses. Any other name must resolve to a
 * public address, so that whoever controls the name can't make the server call hosts in the server's own network.
 */
const isPrivateName = (hostname: string): boolean =>
  isIP(hostname.replace(/^\[(.*)\]$/, "$1")) !== 0 ||
  !hostname.includes(".") ||
  /\.(?:localhost|local|internal|lan)$/.test(hostname);
