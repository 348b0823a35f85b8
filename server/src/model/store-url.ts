import { OptionError } from "millrace/model";

/**
 * Whether the connection to PostgreSQL is encrypted. `verify-full` also checks the server's certificate and the host
 * name in it.
 */
export type SslMode = "disable" | "require" | "verify-full";

/** The address of a PostgreSQL server. */
export interface PostgresHost {
  readonly host: string;
  readonly port: number;
}

/** The database that a store URL names. */
export interface PostgresTarget {
  /** Tried in this order, until one is found that accepts writes. */
  readonly hosts: readonly PostgresHost[];
  readonly database: string;
  readonly user: string | undefined;
  /** `undefined`: the driver reads it from PGPASSWORD or the password file. */
  readonly password: string | undefined;
  readonly sslMode: SslMode;
  /** Path of a file with the certificates of authorities that are trusted; for `verify-full`. */
  readonly sslRootCertificate: string | undefined;
}

const defaultPostgresPort = 5_432;

/** Maximum number of hosts in one URL. */
const maxHosts = 16;

const sslModes: readonly string[] = ["disable", "require", "verify-full"] satisfies SslMode[];

/**
 * Parses the URL of a store: `postgres://USER:PASSWORD@HOST:PORT,HOST:PORT/DATABASE?sslmode=verify-full`. No message
 * contains the URL, because it may contain a password.
 *
 * @throws OptionError the URL is malformed.
 */
export function parseStoreUrl(url: string): PostgresTarget {
  const match =
    /^postgres(?:ql)?:\/\/(?:(?<login>[^/?#]*)@)?(?<hosts>[^/?#@]+)\/(?<database>[^/?#]+)(?:\?(?<query>[^#]*))?$/.exec(
      url,
    );
  const { login = "", hosts = "", database = "", query = "" } = match?.groups ?? {};
  if (match === null) {
    throw new OptionError(
      "store must be a URL such as postgres://user:password@host:5432/database; encode special characters of the user and the password, such as %40 for @",
    );
  }
  const [user = "", ...passwordParts] = login.split(":");
  const password = passwordParts.join(":");
  return {
    hosts: parseHosts(hosts),
    database: decode(database, "database"),
    user: user === "" ? undefined : decode(user, "user"),
    password: password === "" ? undefined : decode(password, "password"),
    ...parseParameters(query),
  };
}

/**
 * Returns the hosts and the database of a store's URL, for messages. The result contains no password.
 *
 * @throws OptionError the URL is malformed.
 */
export const describeStoreUrl = (url: string): string => describeTarget(parseStoreUrl(url));

/** Describes a database by its hosts and its name, without user or password, for messages. */
export const describeTarget = ({ hosts, database }: PostgresTarget): string =>
  `${hosts.map(describeHost).join(",")}/${database}`;

/** Formats a host and its port; an IPv6 address is put in brackets. */
export const describeHost = ({ host, port }: PostgresHost): string =>
  `${host.includes(":") ? `[${host}]` : host}:${port}`;

function parseHosts(text: string): readonly PostgresHost[] {
  const hosts = text.split(",").map((part) => {
    const match = /^(?:\[(?<address>[\da-fA-F:.]+)\]|(?<name>[\w.-]+))(?::(?<port>\d{1,5}))?$/.exec(
      part,
    );
    const { address, name, port } = match?.groups ?? {};
    const host = address ?? name;
    const portNumber = port === undefined ? defaultPostgresPort : Number(port);
    if (host === undefined || portNumber < 1 || portNumber > 65_535) {
      throw new OptionError(
        `store must have hosts such as db.internal:5432, separated by commas, not ${JSON.stringify(part)}`,
      );
    }
    return { host, port: portNumber };
  });
  if (hosts.length > maxHosts) {
    throw new OptionError(`store must have at most ${maxHosts} hosts, not ${hosts.length}`);
  }
  return hosts;
}

function parseParameters(query: string): Pick<PostgresTarget, "sslMode" | "sslRootCertificate"> {
  const parameters = new URLSearchParams(query);
  const unknown = [...parameters.keys()].find(
    (name) => name !== "sslmode" && name !== "sslrootcert",
  );
  if (unknown !== undefined) {
    throw new OptionError(
      `store must have no parameters but sslmode and sslrootcert, not ${JSON.stringify(unknown)}`,
    );
  }
  const sslMode = parameters.get("sslmode") ?? "disable";
  if (!sslModes.includes(sslMode)) {
    throw new OptionError(
      `store must have one of the values ${sslModes.join(", ")} for sslmode, not ${JSON.stringify(sslMode)}`,
    );
  }
  return {
    sslMode: sslMode as SslMode,
    sslRootCertificate: parameters.get("sslrootcert") ?? undefined,
  };
}

function decode(text: string, part: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new OptionError(`store must have a percent-encoded ${part}: % is written as %25`);
  }
}
