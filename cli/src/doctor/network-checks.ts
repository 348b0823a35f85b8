import { once } from "node:events";
import { lookup } from "node:dns/promises";
import { isIP } from "node:net";
import tls from "node:tls";
import { isLoopback } from "millrace/model";
import { pemOf, proxyOf } from "./ask.ts";
import { shown } from "./check.ts";
import type { Check } from "./check.ts";
import type { Settings } from "./settings.ts";

const limitMs = 5_000;
const dayMs = 86_400_000;
/** Days before its end from which a certificate is mentioned. */
const soonDays = 14;

/** The address as people may see it: without user and password. */
export function addressOf(text: string): string {
  const url = new URL(text);
  url.username = "";
  url.password = "";
  return url.href.replace(/\/$/, "");
}

export function checkEndpoint({ endpoint: { value, from } }: Settings): Check {
  const name = "endpoint";
  const url = URL.canParse(value) ? new URL(value) : undefined;
  if (url === undefined || !["http:", "https:"].includes(url.protocol)) {
    return {
      name,
      status: "failed",
      found: `${from} is not an http or https address`,
      todo: "Set it to the address that the server prints, such as http://localhost:1984.",
    };
  }
  if (url.username !== "" || url.password !== "") {
    return {
      name,
      status: "failed",
      found: `${addressOf(value)} (from ${from}) holds a user or a password`,
      todo: "Leave them out: a key goes into MILLRACE_API_KEY.",
    };
  }
  return { name, status: "ok", found: `${addressOf(value)} (from ${from})` };
}

export function checkProxy(settings: Settings): Check {
  const name = "proxy";
  const { endpoint, httpProxy, httpsProxy, noProxy, socketPath } = settings;
  if (socketPath !== undefined) {
    return { name, status: "ok", found: `none: the socket of ${socketPath.from} is used` };
  }
  const isSecure = new URL(endpoint.value).protocol === "https:";
  const variable = isSecure ? httpsProxy : httpProxy;
  if (variable === undefined) {
    return { name, status: "ok", found: "none" };
  }
  const proxy = proxyOf(settings);
  if (proxy === undefined) {
    return {
      name,
      status: "ok",
      found: `${variable.from} is not used: ${noProxy?.from ?? "NO_PROXY"} names this host`,
    };
  }
  const { hostname } = new URL(endpoint.value);
  return {
    name,
    status: isLoopback(hostname) ? "warning" : "ok",
    found: `${proxy.origin} (from ${variable.from})`,
    ...(isLoopback(hostname)
      ? { todo: `A server on this machine needs no proxy: set NO_PROXY=${hostname}.` }
      : {}),
  };
}

export async function checkDns(settings: Settings): Promise<Check> {
  const name = "dns";
  const host = new URL(settings.endpoint.value).hostname.replaceAll(/^\[|\]$/g, "");
  if (settings.socketPath !== undefined) {
    return { name, status: "skipped", found: "not needed: a socket is used" };
  }
  if (isIP(host) !== 0) {
    return { name, status: "ok", found: `${host} is an address` };
  }
  if (proxyOf(settings) !== undefined) {
    return { name, status: "skipped", found: `the proxy looks ${host} up` };
  }
  try {
    const addresses = await lookup(host, { all: true });
    return { name, status: "ok", found: addresses.map(({ address }) => address).join(", ") };
  } catch (error) {
    return {
      name,
      status: "failed",
      found: `${host} has no address (${codeOf(error)})`,
      todo: "Check the spelling of the endpoint and this machine's name server.",
    };
  }
}

export async function checkTls(settings: Settings): Promise<Check> {
  const name = "tls";
  const url = new URL(settings.endpoint.value);
  if (url.protocol === "http:") {
    const isHere = isLoopback(url.hostname) || settings.socketPath !== undefined;
    return {
      name,
      status: isHere ? "ok" : "warning",
      found: isHere
        ? "not needed: the server is on this machine"
        : "none: runs travel as plain text",
      ...(isHere ? {} : { todo: "Use an https endpoint, or a network that only you can read." }),
    };
  }
  if (proxyOf(settings) !== undefined) {
    return { name, status: "skipped", found: "checked together with the server, by the proxy" };
  }
  const host = url.hostname.replaceAll(/^\[|\]$/g, "");
  const socket = tls.connect({
    host,
    port: url.port === "" ? 443 : Number(url.port),
    ...(isIP(host) === 0 ? { servername: host } : {}),
    ...pemOf(settings),
    ...(settings.socketPath === undefined ? {} : { path: settings.socketPath.value }),
  });
  try {
    await once(socket, "secureConnect", { signal: AbortSignal.timeout(limitMs) });
    const { valid_to: end } = socket.getPeerCertificate();
    const days = Math.floor((Date.parse(end) - Date.now()) / dayMs);
    const isSoon = days < soonDays;
    return {
      name,
      status: isSoon ? "warning" : "ok",
      found: `${socket.getProtocol() ?? "TLS"}, certificate valid for ${days} days`,
      ...(isSoon ? { todo: "Renew the server's certificate." } : {}),
    };
  } catch (error) {
    return {
      name,
      status: "failed",
      found: shown(`no secure connection: ${messageOf(error)}`),
      todo: todoOfTls(codeOf(error)),
    };
  } finally {
    socket.destroy();
  }
}

function todoOfTls(code: string): string {
  if (code === "CERT_HAS_EXPIRED") {
    return "Renew the server's certificate, and check this machine's clock.";
  }
  if (/CERT|SELF_SIGNED|UNABLE_TO|ALTNAME/.test(code)) {
    return "Trust the server's authority by MILLRACE_CA (PEM text), or use the name on its certificate.";
  }
  return /EPROTO|SSL|ECONNRESET/.test(code)
    ? "The server speaks no TLS there: use http, or the right port."
    : "Check that the server runs and that the port is open.";
}

export const codeOf = (error: unknown): string =>
  error instanceof Error && "code" in error ? String(error.code) : "";

/** Of an error or of the first that it was made of. */
export function messageOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) {
    return messageOf(error.errors[0]);
  }
  return error instanceof Error ? error.message : String(error);
}
