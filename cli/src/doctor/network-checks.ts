import { once } from "node:events";
import { lookup } from "node:dns/promises";
import { isIP } from "node:net";
import tls from "node:tls";
import { isLoopback } from "millrace/model";
import { isProxyChosen, resolveProxy, toTlsOptions } from "../local-server/send-request.ts";
import { toPrintable } from "../to-printable.ts";
import type { Check } from "./check.ts";
import type { Settings } from "../local-server/settings.ts";

const tlsTimeoutMs = 5_000;
const dayMs = 86_400_000;
/** A certificate that expires within this many days causes a warning. */
const expiryWarningDays = 14;

/** Returns a URL that is safe to print: without user name and password. */
export function toPrintableUrl(text: string): string {
  const url = new URL(text);
  url.username = "";
  url.password = "";
  return url.href.replace(/\/$/, "");
}

/** Checks that the endpoint is an http or https URL without a user name or password. */
export function checkEndpoint({ endpoint: { value, source } }: Settings): Check {
  const name = "endpoint";
  const url = URL.canParse(value) ? new URL(value) : undefined;
  if (url === undefined || !["http:", "https:"].includes(url.protocol)) {
    return {
      name,
      status: "failed",
      found: `${source} is not an http or https URL`,
      todo: "Set it to the URL that the server prints, such as http://localhost:1984.",
    };
  }
  if (url.username !== "" || url.password !== "") {
    return {
      name,
      status: "failed",
      found: `${toPrintableUrl(value)} (from ${source}) contains a user name or a password`,
      todo: "Remove them, and pass the key in MILLRACE_API_KEY.",
    };
  }
  return { name, status: "ok", found: `${toPrintableUrl(value)} (from ${source})` };
}

/** Reports which proxy is used, and why. */
export function checkProxy(settings: Settings): Check {
  const name = "proxy";
  const { endpoint, httpProxy, httpsProxy, noProxy, socketPath } = settings;
  if (socketPath !== undefined) {
    return { name, status: "ok", found: `none: the Unix socket from ${socketPath.source} is used` };
  }
  const isSecure = new URL(endpoint.value).protocol === "https:";
  const proxySetting = isSecure ? httpsProxy : httpProxy;
  if (proxySetting === undefined) {
    return { name, status: "ok", found: "none" };
  }
  const proxy = resolveProxy(settings);
  if (proxy === undefined && isProxyChosen(settings)) {
    return {
      name,
      status: "failed",
      // The value is not shown, because it may hold a password.
      found: `${proxySetting.source} is not the address of a proxy`,
      todo: `Set ${proxySetting.source} to an address such as http://host:3128.`,
    };
  }
  if (proxy === undefined) {
    return {
      name,
      status: "ok",
      found: `${proxySetting.source} is not used: ${noProxy?.source ?? "NO_PROXY"} lists this host`,
    };
  }
  const { hostname } = new URL(endpoint.value);
  return {
    name,
    status: isLoopback(hostname) ? "warning" : "ok",
    found: `${proxy.origin} (from ${proxySetting.source})`,
    ...(isLoopback(hostname)
      ? { todo: `A server on this machine needs no proxy: set NO_PROXY=${hostname}.` }
      : {}),
  };
}

/** Checks that the host name of the endpoint can be resolved, unless a proxy resolves it. */
export async function checkDns(settings: Settings): Promise<Check> {
  const name = "dns";
  const host = new URL(settings.endpoint.value).hostname.replaceAll(/^\[|\]$/g, "");
  if (settings.socketPath !== undefined) {
    return { name, status: "skipped", found: "not needed: a Unix socket is used" };
  }
  if (isIP(host) !== 0) {
    return { name, status: "ok", found: `${host} is an IP address` };
  }
  if (resolveProxy(settings) !== undefined) {
    return { name, status: "skipped", found: `the proxy resolves ${host}` };
  }
  try {
    const addresses = await lookup(host, { all: true });
    return { name, status: "ok", found: addresses.map(({ address }) => address).join(", ") };
  } catch (error) {
    return {
      name,
      status: "failed",
      found: `${host} can't be resolved (${readErrorCode(error)})`,
      todo: "Check the spelling of the endpoint and this machine's DNS settings.",
    };
  }
}

/**
 * Checks that the connection to the server is encrypted, that its certificate is trusted, and how long the certificate
 * is valid.
 */
export async function checkTls(settings: Settings): Promise<Check> {
  const name = "tls";
  const url = new URL(settings.endpoint.value);
  if (url.protocol === "http:") {
    const isLocal = isLoopback(url.hostname) || settings.socketPath !== undefined;
    return {
      name,
      status: isLocal ? "ok" : "warning",
      found: isLocal
        ? "not needed: the server is on this machine"
        : "none: runs are sent unencrypted",
      ...(isLocal ? {} : { todo: "Use an https endpoint, or a private network." }),
    };
  }
  if (resolveProxy(settings) !== undefined) {
    return { name, status: "skipped", found: "checked by the server check, through the proxy" };
  }
  const host = url.hostname.replaceAll(/^\[|\]$/g, "");
  const socket = tls.connect({
    host,
    port: url.port === "" ? 443 : Number(url.port),
    ...(isIP(host) === 0 ? { servername: host } : {}),
    ...toTlsOptions(settings),
    ...(settings.socketPath === undefined ? {} : { path: settings.socketPath.value }),
  });
  try {
    await once(socket, "secureConnect", { signal: AbortSignal.timeout(tlsTimeoutMs) });
    const { valid_to: end } = socket.getPeerCertificate();
    const days = Math.floor((Date.parse(end) - Date.now()) / dayMs);
    const expiresSoon = days < expiryWarningDays;
    return {
      name,
      status: expiresSoon ? "warning" : "ok",
      found: `${socket.getProtocol() ?? "TLS"}, certificate valid for ${days} days`,
      ...(expiresSoon ? { todo: "Renew the server's certificate." } : {}),
    };
  } catch (error) {
    return {
      name,
      status: "failed",
      found: toPrintable(`no secure connection: ${readErrorMessage(error)}`),
      todo: adviseOnTls(readErrorCode(error)),
    };
  } finally {
    socket.destroy();
  }
}

function adviseOnTls(code: string): string {
  if (code === "CERT_HAS_EXPIRED") {
    return "Renew the server's certificate, and check this machine's clock.";
  }
  if (/CERT|SELF_SIGNED|UNABLE_TO|ALTNAME/.test(code)) {
    return "Set MILLRACE_CA to the server's certificate authority (PEM text), or use the host name on its certificate.";
  }
  return /EPROTO|SSL|ECONNRESET/.test(code)
    ? "The server does not use TLS on this port: use http, or the correct port."
    : "Check that the server is running and that the port is open.";
}

/** Returns the code of an error of Node; empty if it has none. */
export const readErrorCode = (error: unknown): string =>
  error instanceof Error && "code" in error ? String(error.code) : "";

/** Returns the message of an error; for an `AggregateError`, the message of its first error. */
export function readErrorMessage(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) {
    return readErrorMessage(error.errors[0]);
  }
  return error instanceof Error ? error.message : String(error);
}
