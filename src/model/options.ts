import { compressions } from "./connection.ts";
import type { Compression } from "./connection.ts";
import { OptionError } from "./errors.ts";
import type { KeyValues } from "./run.ts";

/**
 * What to hide of a payload: `true` for all of it, or a function that returns what may be recorded.
 * It is called once per value, must return at once, and must not change what it is given.
 */
export type Hide = boolean | ((value: KeyValues) => KeyValues);

/** The options that are a number, a text or a switch: each can also come from the environment. */
export interface PlainOptions {
  readonly enabled: boolean;
  readonly endpoint: string;
  readonly apiKey: string | undefined;
  readonly workspaceId: string | undefined;
  readonly project: string;
  readonly timeoutMs: number;
  readonly batchLimit: number;
  readonly firstDelayMs: number;
  readonly aggregationDelayMs: number;
  readonly attempts: number;
  readonly retryAfterLimitMs: number;
  readonly maxQueueBytes: number;
  readonly maxQueueRecords: number;
  readonly tapeBytes: number;
  readonly workers: number;
  readonly requestsInFlight: number;
  readonly compression: Compression;
  readonly exitTimeoutMs: number;
  readonly drainTimeoutMs: number;
  readonly spoolDir: string | undefined;
  readonly samplingRate: number;
  readonly hideInputs: Hide;
  readonly hideOutputs: Hide;
  readonly hideMetadata: Hide;
  readonly recursionLimit: number;
  readonly ca: string | undefined;
  readonly cert: string | undefined;
  readonly key: string | undefined;
  readonly socketPath: string | undefined;
  readonly httpProxy: string | undefined;
  readonly httpsProxy: string | undefined;
  readonly noProxy: string | undefined;
}

interface Common {
  /** Names of variables, the first that is set counts. */
  readonly env: readonly string[];
  /** What the option is for: feeds the documentation. */
  readonly doc: string;
}

type Row =
  | (Common & {
      readonly kind: "number";
      readonly fallback: number;
      readonly min: number;
      readonly max: number;
      /** Whether fractions are allowed. */
      readonly fraction?: true;
    })
  | (Common & { readonly kind: "text"; readonly fallback: string | undefined })
  | (Common & { readonly kind: "switch"; readonly fallback: boolean })
  | (Common & { readonly kind: "hide"; readonly fallback: false })
  | (Common & {
      readonly kind: "choice";
      readonly fallback: string;
      readonly choices: readonly string[];
    });

const own = (name: string): readonly string[] => [`MILLRACE_${name}`];
/** Where `MILLRACE_X` is unset, the variables that instrumented code already has are read. */
const shared = (name: string): readonly string[] => [
  `MILLRACE_${name}`,
  `LANGSMITH_${name}`,
  `LANGCHAIN_${name}`,
];

const mebibyte = 1_048_576;

/** Every tunable of the client: its default, range, variables and sentence. Written here only. */
export const optionTable: { readonly [Name in keyof PlainOptions]: Row } = {
  enabled: {
    kind: "switch",
    fallback: true,
    env: [...shared("TRACING"), "LANGCHAIN_TRACING_V2"],
    doc: "Whether anything is recorded at all.",
  },
  endpoint: {
    kind: "text",
    fallback: "http://localhost:1984",
    env: shared("ENDPOINT"),
    doc: "Base address of the server, http or https, with a path where it has one.",
  },
  apiKey: {
    kind: "text",
    fallback: undefined,
    env: shared("API_KEY"),
    doc: "Key sent in the header x-api-key; never logged.",
  },
  workspaceId: {
    kind: "text",
    fallback: undefined,
    env: shared("WORKSPACE_ID"),
    doc: "Workspace sent in the header x-tenant-id, for keys that reach several.",
  },
  project: {
    kind: "text",
    fallback: "default",
    env: [...shared("PROJECT"), "LANGCHAIN_SESSION"],
    doc: "Project that runs are filed in where none is named.",
  },
  timeoutMs: {
    kind: "number",
    fallback: 12_000,
    min: 1,
    max: 600_000,
    env: own("TIMEOUT_MS"),
    doc: "Longest wait for one answer of the server.",
  },
  batchLimit: {
    kind: "number",
    fallback: 100,
    min: 1,
    max: 1_000_000,
    env: own("BATCH_LIMIT"),
    doc: "Pending operations that make a batch full; a server that takes fewer gets fewer.",
  },
  firstDelayMs: {
    kind: "number",
    fallback: 250,
    min: 0,
    max: 60_000,
    env: own("FIRST_DELAY_MS"),
    doc: "Wait for company after the first record of a quiet time.",
  },
  aggregationDelayMs: {
    kind: "number",
    fallback: 50,
    min: 0,
    max: 60_000,
    env: own("AGGREGATION_DELAY_MS"),
    doc: "Longest wait for company in traffic; no later record pushes it back.",
  },
  attempts: {
    kind: "number",
    fallback: 6,
    min: 1,
    max: 100,
    env: own("ATTEMPTS"),
    doc: "Tries of one batch in one go, the first included.",
  },
  retryAfterLimitMs: {
    kind: "number",
    fallback: 60_000,
    min: 0,
    max: 3_600_000,
    env: own("RETRY_AFTER_LIMIT_MS"),
    doc: "Longest wait that a server's Retry-After can ask for.",
  },
  maxQueueBytes: {
    kind: "number",
    fallback: 64 * mebibyte,
    min: 65_536,
    max: 65_536 * mebibyte,
    env: own("MAX_QUEUE_BYTES"),
    doc: "Memory for records that wait to be sent; beyond it new records are dropped and counted.",
  },
  maxQueueRecords: {
    kind: "number",
    fallback: 1_000_000,
    min: 1,
    max: 1_000_000_000,
    env: own("MAX_QUEUE_RECORDS"),
    doc: "Records that may be waiting or under way; beyond it new records are dropped and counted.",
  },
  tapeBytes: {
    kind: "number",
    fallback: mebibyte,
    min: 4_096,
    max: 256 * mebibyte,
    env: own("TAPE_BYTES"),
    doc: "Size of one tape, the buffer that crosses to a worker; a larger record gets a tape of its own.",
  },
  workers: {
    kind: "number",
    fallback: 1,
    min: 0,
    max: 64,
    env: own("WORKERS"),
    doc: "Worker threads that serialize and send; 0 does it on the main thread.",
  },
  requestsInFlight: {
    kind: "number",
    fallback: 16,
    min: 1,
    max: 1_024,
    env: own("REQUESTS_IN_FLIGHT"),
    doc: "Requests under way at once, all workers together; also the tapes under way.",
  },
  compression: {
    kind: "choice",
    fallback: "auto",
    choices: compressions,
    env: own("COMPRESSION"),
    doc: "How bodies are compressed where the server offers it; auto leaves loopback addresses plain.",
  },
  exitTimeoutMs: {
    kind: "number",
    fallback: 1_000,
    min: 0,
    max: 60_000,
    env: own("EXIT_TIMEOUT_MS"),
    doc: "Longest that a forced end (process.exit, uncaught exception, signal) waits for delivery.",
  },
  drainTimeoutMs: {
    kind: "number",
    fallback: 30_000,
    min: 0,
    max: 600_000,
    env: own("DRAIN_TIMEOUT_MS"),
    doc: "Longest that a natural end, drain, close or a flush without a limit waits for delivery.",
  },
  spoolDir: {
    kind: "text",
    fallback: undefined,
    env: own("SPOOL_DIR"),
    doc: "Folder for what could not be delivered; the next client with the same folder sends it.",
  },
  samplingRate: {
    kind: "number",
    fallback: 1,
    min: 0,
    max: 1,
    fraction: true,
    env: shared("SAMPLING_RATE").concat(shared("TRACING_SAMPLING_RATE")),
    doc: "Share of traces that is recorded; a trace is kept whole or not at all.",
  },
  hideInputs: {
    kind: "hide",
    fallback: false,
    env: shared("HIDE_INPUTS"),
    doc: "Hides inputs: true for all of them, or a function that returns what may be recorded.",
  },
  hideOutputs: {
    kind: "hide",
    fallback: false,
    env: shared("HIDE_OUTPUTS"),
    doc: "Hides outputs, likewise.",
  },
  hideMetadata: {
    kind: "hide",
    fallback: false,
    env: shared("HIDE_METADATA"),
    doc: "Hides metadata, likewise.",
  },
  recursionLimit: {
    kind: "number",
    fallback: 25,
    min: 1,
    max: 100_000,
    env: own("RECURSION_LIMIT"),
    doc: "Recursion limit of the runnable configs that a run is turned into for LangChain.",
  },
  ca: {
    kind: "text",
    fallback: undefined,
    env: own("CA"),
    doc: "Certificate authorities to trust in place of the usual ones, PEM text.",
  },
  cert: {
    kind: "text",
    fallback: undefined,
    env: own("CERT"),
    doc: "Client certificate, PEM text.",
  },
  key: {
    kind: "text",
    fallback: undefined,
    env: own("KEY"),
    doc: "Key of the client certificate, PEM text; never logged.",
  },
  socketPath: {
    kind: "text",
    fallback: undefined,
    env: own("SOCKET_PATH"),
    doc: "Unix socket to connect to in place of the endpoint's host.",
  },
  httpProxy: {
    kind: "text",
    fallback: undefined,
    env: ["MILLRACE_HTTP_PROXY", "http_proxy", "HTTP_PROXY"],
    doc: "Proxy for an endpoint that begins with http.",
  },
  httpsProxy: {
    kind: "text",
    fallback: undefined,
    env: ["MILLRACE_HTTPS_PROXY", "https_proxy", "HTTPS_PROXY"],
    doc: "Proxy for an endpoint that begins with https.",
  },
  noProxy: {
    kind: "text",
    fallback: undefined,
    env: ["MILLRACE_NO_PROXY", "no_proxy", "NO_PROXY"],
    doc: "Hosts reached without a proxy, separated by commas.",
  },
};

/** Variables of the process, or of a test. */
export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The options as they count: what was given, else the environment, else the default.
 *
 * @throws {@link OptionError} a value that is not what the option takes; names the option, its range
 * and the value, the value of a key excepted.
 */
export function resolveOptions(
  given: { readonly [Name in keyof PlainOptions]?: PlainOptions[Name] | undefined },
  env: Environment,
): PlainOptions {
  const resolved: Record<string, unknown> = {};
  for (const [name, row] of Object.entries(optionTable)) {
    const value: unknown = Reflect.get(given, name);
    resolved[name] =
      value === undefined ? fromEnvironment(name, row, env) : checked(name, name, row, value);
  }
  const options = resolved as unknown as PlainOptions;
  checkEndpoint(options.endpoint);
  checkKey(options.apiKey);
  return { ...options, endpoint: options.endpoint.replace(/\/+$/, "") };
}

function fromEnvironment(name: string, row: Row, env: Environment): unknown {
  // Empty counts as unset, as in a shell.
  const variable = row.env.find((key) => (env[key] ?? "").trim() !== "");
  if (variable === undefined) {
    return row.fallback;
  }
  const text = (env[variable] ?? "").trim();
  return checked(`${name} (${variable})`, name, row, parseText(row, text));
}

/** A variable's text as the option's kind of value; stays text where it is not one. */
function parseText(row: Row, text: string): unknown {
  if (row.kind === "number") {
    return /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i.test(text) ? Number(text) : text;
  }
  if (row.kind === "switch" || row.kind === "hide") {
    const switches: Readonly<Record<string, boolean>> = {
      true: true,
      "1": true,
      false: false,
      "0": false,
    };
    return switches[text.toLowerCase()] ?? text;
  }
  return text;
}

function checked(label: string, name: string, row: Row, value: unknown): unknown {
  const problem = problemOf(row, value);
  if (problem !== undefined) {
    const shown = name === "apiKey" || name === "key" ? "" : `, not ${show(value)}`;
    throw new OptionError(`Option ${label} must be ${problem}${shown}`);
  }
  return value;
}

function problemOf(row: Row, value: unknown): string | undefined {
  switch (row.kind) {
    case "number": {
      const inRange = typeof value === "number" && value >= row.min && value <= row.max;
      const allowed = row.fraction === true || Number.isInteger(value);
      const kind = row.fraction === true ? "a number" : "a whole number";
      return inRange && allowed ? undefined : `${kind} from ${row.min} to ${row.max}`;
    }
    case "text":
      return typeof value === "string" && value.trim() !== "" ? undefined : "a text, not empty";
    case "switch":
      return typeof value === "boolean" ? undefined : "true or false";
    case "hide":
      return typeof value === "boolean" || typeof value === "function"
        ? undefined
        : "true, false or a function";
    case "choice":
      return row.choices.some((choice) => choice === value)
        ? undefined
        : `one of ${row.choices.join(", ")}`;
  }
}

const show = (value: unknown): string =>
  typeof value === "string" ? JSON.stringify(value.slice(0, 100)) : kindOf(value);

const kindOf = (value: unknown): string =>
  typeof value === "number" || typeof value === "boolean" || value === null
    ? String(value)
    : `a value of type ${typeof value}`;

function checkEndpoint(endpoint: string): void {
  const url = URL.canParse(endpoint) ? new URL(endpoint) : undefined;
  if (url === undefined || (url.protocol !== "http:" && url.protocol !== "https:")) {
    throw new OptionError(
      `Option endpoint must be an address that begins with http:// or https://, not ${show(endpoint)}`,
    );
  }
  if (url.username !== "" || url.password !== "" || url.search !== "" || url.hash !== "") {
    throw new OptionError(
      "Option endpoint must have no user, password, query or fragment; pass the key as apiKey",
    );
  }
}

/** A key goes into a header: what can't stand there is refused here, where the message can say so. */
function checkKey(apiKey: string | undefined): void {
  if (apiKey !== undefined && !/^[\x21-\x7e]+$/.test(apiKey)) {
    throw new OptionError(
      "Option apiKey must be printable ASCII without spaces or line ends (its value is not shown)",
    );
  }
}
