import { OptionError } from "millrace/model";

/** How to reach the servers of the ingest log. */
export interface LogTarget {
  /** Host and port of each server, without credentials. */
  readonly servers: readonly string[];
  readonly isTls: boolean;
  readonly credentials: LogCredentials;
}

type LogCredentials =
  | { readonly kind: "none" }
  | { readonly kind: "password"; readonly user: string; readonly password: string }
  | { readonly kind: "token"; readonly token: string };

const defaultLogPort = 4222;
const maxServers = 32;

/**
 * Parses the address of the log: `nats://HOST,HOST,HOST`, or `tls://`. User and password, or a token, may stand before
 * the first host; they are used for all servers. No message contains any part of the text, because it may hold a
 * password.
 *
 * @throws OptionError the text is not such an address.
 */
export function parseLogUrl(text: string): LogTarget {
  const { scheme, rest = "" } =
    /^(?<scheme>nats|tls):\/\/(?<rest>.+?)\/?$/s.exec(text)?.groups ?? {};
  const servers = rest
    .split(",")
    .map((part) => parseServer(part.replace(new RegExp(`^${scheme}://`), "")));
  const [first] = servers;
  if (scheme === undefined || first === undefined || servers.length > maxServers) {
    throw new OptionError(addressRule);
  }
  if (servers.slice(1).some(({ credentials }) => credentials.kind !== "none")) {
    throw new OptionError(
      "log must contain credentials before the first host only, because they are used for all servers",
    );
  }
  return {
    servers: servers.map(({ address }) => address),
    isTls: scheme === "tls",
    credentials: first.credentials,
  };
}

/** Returns the address of the log without credentials, so that it can be shown. */
export const describeTarget = ({ servers, isTls }: LogTarget): string =>
  `${isTls ? "tls" : "nats"}://${servers.join(",")}`;

const addressRule =
  "log must be the address of one or more NATS servers, such as nats://a:4222,b:4222,c:4222, or tls:// and hosts";

function parseServer(part: string): {
  readonly address: string;
  readonly credentials: LogCredentials;
} {
  let url: URL;
  try {
    // Use a scheme that `URL` supports, because it then checks the host.
    url = new URL(`http://${part}`);
  } catch {
    // The error of URL contains the text, so it is not passed on.
    throw new OptionError(addressRule);
  }
  const [user, password] = [decodePart(url.username), decodePart(url.password)];
  const isHost = url.hostname !== "" && url.pathname === "/" && url.search === "";
  if (!isHost) {
    throw new OptionError(addressRule);
  }
  // `URL` leaves out port 80, because it is the default port of http.
  const port = /:(?<port>\d+)$/.exec(part)?.groups?.["port"] ?? String(defaultLogPort);
  return { address: `${url.hostname}:${port}`, credentials: toCredentials(user, password) };
}

function toCredentials(user: string, password: string): LogCredentials {
  if (user === "") {
    return { kind: "none" };
  }
  return password === "" ? { kind: "token", token: user } : { kind: "password", user, password };
}

function decodePart(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new OptionError(
      "log must contain credentials whose special characters are percent-encoded",
    );
  }
}
