import { isIP } from "node:net";
import { OptionError } from "millrace/model";

/** The address at which clients reach the server, if it differs from the one that the server listens on. */
export interface PublicUrl {
  /** Without a trailing slash. */
  readonly url: string;
  readonly origin: string;
  /** Host name and port, as in the Host header. */
  readonly host: string;
  /** The path below which a proxy publishes the server, without a trailing slash; empty for the root of the host. */
  readonly basePath: string;
}

/** Files of the certificate that the server presents, and of its private key, in PEM format. */
export interface TlsFiles {
  readonly certPath: string;
  readonly keyPath: string;
}

/** The options about the network in front of the server. */
export interface NetworkOptions {
  readonly publicUrl?: string;
  readonly trustedProxies?: readonly string[];
  readonly tlsCert?: string;
  readonly tlsKey?: string;
}

/** {@link NetworkOptions} after validation. */
export interface NetworkSettings {
  readonly publicUrl: PublicUrl | undefined;
  /** Addresses, ranges such as `10.0.0.0/8`, or `loopback`. */
  readonly trustedProxies: readonly string[];
  readonly tls: TlsFiles | undefined;
}

/**
 * Checks the options about the network.
 *
 * @throws OptionError one of them is malformed, or only one of `tlsCert` and `tlsKey` is given.
 */
export function parseNetworkOptions(options: NetworkOptions): NetworkSettings {
  const { publicUrl, trustedProxies = [], tlsCert, tlsKey } = options;
  if (!Array.isArray(trustedProxies) || !trustedProxies.every(isProxyAddress)) {
    throw new OptionError(
      `trustedProxies must be a list of addresses, ranges such as 10.0.0.0/8, or loopback, not ${JSON.stringify(trustedProxies)}`,
    );
  }
  for (const [name, path] of Object.entries({ tlsCert, tlsKey })) {
    if (path !== undefined && (typeof path !== "string" || path === "" || path.includes("\0"))) {
      throw new OptionError(`${name} must be the path of a PEM file, not ${JSON.stringify(path)}`);
    }
  }
  if ((tlsCert === undefined) !== (tlsKey === undefined)) {
    const [given, missing] = tlsCert === undefined ? ["tlsKey", "tlsCert"] : ["tlsCert", "tlsKey"];
    throw new OptionError(`${given} needs ${missing}: TLS needs a certificate and its private key`);
  }
  return {
    publicUrl: publicUrl === undefined ? undefined : parsePublicUrl(publicUrl),
    trustedProxies,
    tls:
      tlsCert === undefined || tlsKey === undefined
        ? undefined
        : { certPath: tlsCert, keyPath: tlsKey },
  };
}

/** The characters of a base path. Others would need different escapes in HTML, in headers and in the router. */
const basePathPattern = /^(?:\/[\w.~-]+)*$/;

function parsePublicUrl(text: string): PublicUrl {
  const url = typeof text === "string" && URL.canParse(text) ? new URL(text) : undefined;
  const basePath = url?.pathname.replace(/\/+$/, "") ?? "";
  const isPlain =
    url !== undefined &&
    /^https?:$/.test(url.protocol) &&
    [url.username, url.password, url.search, url.hash].every((part) => part === "") &&
    basePathPattern.test(basePath);
  if (!isPlain) {
    throw new OptionError(
      `publicUrl must be a URL such as https://traces.example.com/millrace, with http or https and without a password, a query or a fragment; its path may contain letters, digits, and . _ ~ - /. It is not ${describeUrl(text)}`,
    );
  }
  return { url: url.origin + basePath, origin: url.origin, host: url.host, basePath };
}

/** Shows a URL without the password that it may contain. */
const describeUrl = (text: unknown): string =>
  typeof text === "string" ? JSON.stringify(text.replace(/\/\/[^/@]*@/, "//***@")) : typeof text;

/** Whether a text is an address, a range of addresses, or the name of the addresses of the machine itself. */
function isProxyAddress(value: unknown): value is string {
  if (typeof value !== "string") {
    return false;
  }
  if (value === "loopback") {
    return true;
  }
  const [address = "", prefix, ...rest] = value.split("/");
  const version = isIP(address);
  const bits = version === 4 ? 32 : 128;
  return (
    version !== 0 &&
    rest.length === 0 &&
    (prefix === undefined || (/^\d{1,3}$/.test(prefix) && Number(prefix) <= bits))
  );
}
