import { BlockList, isIP } from "node:net";

/** Address of a proxy, separate from its user and password, which must not be shown. */
export interface Proxy {
  /** The address without user and password, such as `http://proxy.example:3128`. */
  readonly origin: string;
  /** Value of `Proxy-Authorization`; never logged. */
  readonly authorization?: string;
}

/** Settings that determine the proxy for a server. */
export interface ProxyChoice {
  readonly endpoint: string;
  readonly httpProxy?: string | undefined;
  readonly httpsProxy?: string | undefined;
  readonly noProxy?: string | undefined;
  readonly socketPath?: string | undefined;
}

/**
 * Returns the address of the proxy for the endpoint, by the endpoint's scheme; `undefined` if no
 * proxy is used. The proxy of one scheme is never used for the other.
 */
export function chooseProxy(choice: ProxyChoice): string | undefined {
  const { httpProxy, httpsProxy, noProxy = "", socketPath } = choice;
  const endpoint = new URL(choice.endpoint);
  const isDirect = socketPath !== undefined || isExempt(endpoint, noProxy);
  const address = endpoint.protocol === "https:" ? httpsProxy : httpProxy;
  return isDirect ? undefined : address;
}

/** Names what set the proxy for an endpoint: an environment variable, or an option. */
export function nameProxySource(endpoint: string, sources: ReadonlyMap<string, string>): string {
  const name = new URL(endpoint).protocol === "https:" ? "httpsProxy" : "httpProxy";
  const source = sources.get(name) ?? "option";
  return source === "option" ? `the option ${name}` : source;
}

/**
 * Parses `http://user:password@host:port`, with optional scheme and user; `undefined` if the text
 * is not valid.
 */
export function parseProxy(text: string): Proxy | undefined {
  const trimmed = text.trim();
  const address = /^[a-z][a-z\d+.-]*:\/\//i.test(trimmed) ? trimmed : `http://${trimmed}`;
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (url === undefined || (url.protocol !== "http:" && url.protocol !== "https:")) {
    return undefined;
  }
  if (url.username === "" && url.password === "") {
    return { origin: url.origin };
  }
  const credentials = `${unescapePercents(url.username)}:${unescapePercents(url.password)}`;
  return {
    origin: url.origin,
    authorization: `Basic ${Buffer.from(credentials).toString("base64")}`,
  };
}

/** Decodes percent-encoding. Returns the text unchanged if it is not encoded correctly. */
function unescapePercents(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    // A password with a lone `%` is not percent-encoded.
    return text;
  }
}

/**
 * Whether a list such as `NO_PROXY` contains an address. The list's entries, separated by commas or spaces, are host
 * names, IP addresses, and ranges of IP addresses (`10.0.0.0/8`), each optionally with a port. A host name also covers
 * its subdomains, and `*` covers all addresses.
 */
export function isExempt(endpoint: URL, list: string): boolean {
  const host = endpoint.hostname.replace(/^\[|\]$/g, "").replace(/\.$/, "");
  const port = endpoint.port || (endpoint.protocol === "https:" ? "443" : "80");
  return list
    .toLowerCase()
    .split(/[\s,]+/)
    .some((entry) => entry === "*" || (entry !== "" && matchesHost(entry, host, port)));
}

function matchesHost(entry: string, host: string, port: string): boolean {
  const { name, onlyPort } = splitPort(entry);
  if (onlyPort !== undefined && onlyPort !== port) {
    return false;
  }
  if (isIP(host) !== 0) {
    return matchesAddress(name, host);
  }
  const domain = name.replace(/^\*?\./, "");
  return host === domain || host.endsWith(`.${domain}`);
}

function splitPort(entry: string): { readonly name: string; readonly onlyPort?: string } {
  if (isIP(entry) === 6) {
    return { name: entry };
  }
  const [, name = entry, onlyPort] = /^(.+):(\d+)$/.exec(entry) ?? [];
  const nameWithoutBrackets = name.replace(/^\[|\]$/g, "");
  return onlyPort === undefined
    ? { name: nameWithoutBrackets }
    : { name: nameWithoutBrackets, onlyPort };
}

function matchesAddress(addressOrRange: string, host: string): boolean {
  const [address = "", bits] = addressOrRange.split("/");
  const family = isIP(address);
  if (family === 0 || family !== isIP(host)) {
    return false;
  }
  const addressFamily = family === 6 ? "ipv6" : "ipv4";
  const addressBits = family === 6 ? 128 : 32;
  const prefix = bits === undefined ? addressBits : Number(bits);
  if (!Number.isInteger(prefix) || prefix < 0 || prefix > addressBits) {
    return false;
  }
  const range = new BlockList();
  range.addSubnet(address, prefix, addressFamily);
  return range.check(host, addressFamily);
}
