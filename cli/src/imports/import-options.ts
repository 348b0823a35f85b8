import { isLoopback } from "millrace/model";
import { UsageError } from "../usage-error.ts";
import type { ServerFlags } from "../local-server/server-flags.ts";
import { isHttp } from "./source/source-client.ts";
import { importKinds } from "./model/import-source.ts";
import type { ImportKind } from "./model/import-source.ts";

export interface ImportFlags extends ServerFlags {
  readonly from: string;
  readonly fromUrl: string;
  readonly project?: readonly string[];
  readonly since?: string;
  readonly until?: string;
  readonly only?: string;
  readonly checkpoint?: string | false;
  readonly dryRun?: true;
  readonly json?: true;
}

/** The values of `--from`: the products that data can be imported from. */
export const products = ["langsmith", "langfuse"] as const;
/** One of {@link products}. */
export type Product = (typeof products)[number];

/** The validated flags. */
export interface ImportOptions {
  readonly product: Product;
  readonly url: URL;
  /** Headers for requests to the source, including its key. */
  readonly headers: Readonly<Record<string, string>>;
  /** Texts that no message may contain. */
  readonly secrets: readonly string[];
  /** Names of the environment variables that contain the key, for messages. */
  readonly keyVariables: string;
  readonly projectNames: readonly string[] | undefined;
  readonly since: string | undefined;
  readonly until: string | undefined;
  readonly kinds: ReadonlySet<ImportKind>;
  /** Path of the checkpoint; `undefined` if the progress is not recorded. */
  readonly checkpointPath: string | undefined;
  readonly isDryRun: boolean;
}

/** @throws {@link UsageError} if a flag is invalid, or the source's key is missing. */
export function parseImportOptions(flags: ImportFlags, env: NodeJS.ProcessEnv): ImportOptions {
  const product = products.find((name) => name === flags.from);
  if (product === undefined) {
    throw new UsageError(
      `--from must be one of ${products.join(", ")}, not ${JSON.stringify(flags.from)}`,
    );
  }
  const url = parseUrl(flags.fromUrl);
  const [since, until] = [parseTime(flags.since, "--since"), parseTime(flags.until, "--until")];
  if (since !== undefined && until !== undefined && since >= until) {
    throw new UsageError("--since must be before --until");
  }
  const isDryRun = flags.dryRun === true;
  return {
    product,
    url,
    ...readKey(product, url, env),
    projectNames: flags.project,
    since,
    until,
    kinds: parseKinds(flags.only),
    checkpointPath:
      isDryRun || flags.checkpoint === false
        ? undefined
        : (flags.checkpoint ?? `millrace-import-${product}-${url.host.replaceAll(":", "-")}.json`),
    isDryRun,
  };
}

function parseUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !isHttp(url)) {
    throw new UsageError(
      "--from-url must be an http or https URL, such as https://api.smith.langchain.com or https://cloud.langfuse.com",
    );
  }
  if (url.username !== "" || url.password !== "" || url.search !== "" || url.hash !== "") {
    throw new UsageError(
      "--from-url must have no user, password, query or fragment: the key is read from environment variables",
    );
  }
  return url;
}

/** Parses a date or a time. A date means the beginning of that day in UTC. */
function parseTime(text: string | undefined, flag: string): string | undefined {
  if (text === undefined) {
    return undefined;
  }
  const isIso =
    /^\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:\d{2}))?$/.test(text);
  if (!isIso || Number.isNaN(Date.parse(text))) {
    throw new UsageError(
      `${flag} must be a date such as 2026-01-31, or a time with its zone such as 2026-01-31T08:00:00Z, not ${JSON.stringify(text)}`,
    );
  }
  return new Date(text).toISOString();
}

function parseKinds(text: string | undefined): ReadonlySet<ImportKind> {
  if (text === undefined) {
    return new Set(importKinds);
  }
  const names = text.split(",").map((name) => name.trim());
  const kinds = names.map((name) => {
    const kind = importKinds.find((candidate) => candidate === name);
    if (kind === undefined) {
      throw new UsageError(
        `--only must be a list of ${importKinds.join(", ")}, separated by commas; there is no ${JSON.stringify(name)}`,
      );
    }
    return kind;
  });
  return new Set(kinds);
}

type Key = Pick<ImportOptions, "headers" | "secrets" | "keyVariables">;

function readKey(product: Product, url: URL, env: NodeJS.ProcessEnv): Key {
  const readVariable = (name: string): string => {
    const value = (env[name] ?? "").trim();
    if (value === "") {
      throw new UsageError(
        `the environment variable ${name} is not set: it must contain a key of the ${product} server to import from`,
      );
    }
    // Only these characters are allowed in a header.
    if (!/^[\u0021-\u007e]+$/.test(value)) {
      throw new UsageError(
        `the environment variable ${name} contains characters that no key has, such as a line break`,
      );
    }
    return value;
  };
  if (product === "langsmith") {
    // A Millrace server on this machine may not require a key. If it does, it refuses the request, and the user gets
    // its error.
    const isKeyNeeded = !isLoopback(url.hostname) || (env["LANGSMITH_API_KEY"] ?? "").trim() !== "";
    const key = isKeyNeeded ? readVariable("LANGSMITH_API_KEY") : undefined;
    const workspace = (env["LANGSMITH_WORKSPACE_ID"] ?? "").trim();
    return {
      headers: {
        ...(key === undefined ? {} : { "x-api-key": key }),
        ...(workspace === "" ? {} : { "x-tenant-id": workspace }),
      },
      secrets: key === undefined ? [] : [key],
      keyVariables: "LANGSMITH_API_KEY",
    };
  }
  const [publicKey, secretKey] = [
    readVariable("LANGFUSE_PUBLIC_KEY"),
    readVariable("LANGFUSE_SECRET_KEY"),
  ];
  const credentials = Buffer.from(`${publicKey}:${secretKey}`).toString("base64");
  return {
    headers: { authorization: `Basic ${credentials}` },
    secrets: [secretKey, credentials],
    keyVariables: "LANGFUSE_PUBLIC_KEY and LANGFUSE_SECRET_KEY",
  };
}
