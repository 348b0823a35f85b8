import { readFile } from "node:fs/promises";
import {
  defaultLogBytes,
  defaultAuditDays,
  defaultModelRate,
  defaultPort,
  defaultQueryTimeoutMs,
} from "@millrace/server/default-port";
import type { RunningServer, ServerOptions } from "@millrace/server";
import { Option } from "commander";
import type { Command } from "commander";
import { OptionError } from "millrace/model";
import { addHelpExamples } from "../examples.ts";
import { openBrowser } from "../local-server/open-browser.ts";
import { waitForStopRequest } from "../transfers/stop-request.ts";
import { defaultDataDir } from "../data-folder.ts";
import { UsageError } from "../usage-error.ts";

interface ServeFlags {
  readonly port: string;
  readonly host: string;
  readonly data: string;
  readonly store?: string;
  readonly apiKey: readonly string[];
  readonly apiKeyFile?: string;
  readonly queryTimeoutMs: string;
  readonly modelEndpoint: readonly string[];
  readonly modelRate: string;
  readonly modelBudget?: string;
  readonly webhookHost: readonly string[];
  readonly log?: string;
  readonly logMaxBytes: string;
  readonly logWriter?: string;
  readonly jobRunner?: string;
  readonly auditDays: string;
  readonly logFormat?: string;
  readonly otelEndpoint?: string;
  readonly drainSeconds: string;
  readonly tenantRate?: string;
  readonly tenantIngestBytes?: string;
  readonly tenantMaxRuns?: string;
  readonly tenantMaxBytes?: string;
  readonly publicUrl?: string;
  readonly trustProxy: readonly string[];
  readonly tlsCert?: string;
  readonly tlsKey?: string;
  readonly open?: true;
}

export function addServe(program: Command, env: NodeJS.ProcessEnv): void {
  const command = program
    .command("serve")
    .description("Start the local server; Ctrl-C stops it.")
    .option(
      "--port <number>",
      "TCP port; 0 picks a free one; also MILLRACE_PORT",
      String(defaultPort),
    )
    .option(
      "--host <address>",
      "address to listen on; any but loopback needs a key; also MILLRACE_HOST",
      "127.0.0.1",
    )
    .option("--data <folder>", "folder of the database; also MILLRACE_DATA_DIR", defaultDataDir)
    .option(
      "--store <url>",
      "address of the PostgreSQL database that stores the data instead of the folder, such as postgres://host:5432/database; also MILLRACE_STORE_URL, which hides the password from the list of processes",
    )
    .option(
      "--api-key-file <path>",
      "file with one accepted API key per line; also MILLRACE_API_KEY_FILE, or MILLRACE_API_KEY for a single key",
    )
    .addOption(
      new Option(
        "--api-key <key>",
        "accepted API key; may be repeated; other users of the machine can see it in the list of processes",
      )
        .argParser(appendText)
        .default([], "none"),
    )
    .option(
      "--query-timeout-ms <number>",
      "time limit of one query, in milliseconds; also MILLRACE_QUERY_TIMEOUT_MS",
      String(defaultQueryTimeoutMs),
    )
    .addOption(
      new Option(
        "--model-endpoint <name=url>",
        `endpoint at which the playground may call models, such as openai=https://api.openai.com/v1; may be repeated. The API is that of OpenAI's chat completions, unless the URL is Anthropic's, or begins with openai-responses+ or anthropic+. A host name with a private address needs private+ before the URL. The key is read from MILLRACE_MODEL_KEY_<NAME>, or entered in the UI`,
      )
        .argParser(appendText)
        .default([], "none"),
    )
    .option(
      "--model-rate <number>",
      "maximum model calls of a tenant per minute; also MILLRACE_MODEL_RATE",
      String(defaultModelRate),
    )
    .option(
      "--model-budget <dollars>",
      "maximum cost of a tenant's model calls per day, in US dollars; unlimited by default; also MILLRACE_MODEL_BUDGET",
    )
    .addOption(
      new Option(
        "--webhook-host <host[:port]>",
        "host to which webhooks may be sent although it is private or uses http; may be repeated; also MILLRACE_WEBHOOK_HOSTS, comma-separated",
      )
        .argParser(appendText)
        .default([], "none"),
    )
    .option(
      "--log <url>",
      "ingest log: address of NATS servers with JetStream, such as nats://a,b,c, which store runs until they are in the database; also MILLRACE_LOG, which hides a password from the list of processes",
    )
    .option(
      "--log-max-bytes <number>",
      "maximum bytes of runs that wait in the log; above it, the server refuses runs with 429; also MILLRACE_LOG_MAX_BYTES",
      String(defaultLogBytes),
    )
    .option(
      "--log-writer <where>",
      "which process stores the runs of the log in the database: server (this server), or separate (only processes of millrace work; needs --store); also MILLRACE_LOG_WRITER (server by default)",
    )
    .option(
      "--job-runner <where>",
      "which process performs jobs and deletes expired runs: server (this server), or separate (only processes of millrace work; needs --store); also MILLRACE_JOB_RUNNER (server by default)",
    )
    .option(
      "--audit-days <number>",
      "days for which entries of the audit log are kept; also MILLRACE_AUDIT_DAYS",
      String(defaultAuditDays),
    )
    .option(
      "--log-format <format>",
      "write a line for each request, and warnings, to standard error, as json or text; also MILLRACE_LOG_FORMAT",
    )
    .option(
      "--otel-endpoint <url>",
      "address of the OTLP receiver for OpenTelemetry spans of the server's own work, such as http://collector:4318; also MILLRACE_OTEL_ENDPOINT; OTEL_TRACES_SAMPLER and OTEL_EXPORTER_OTLP_HEADERS apply",
    )
    .option(
      "--drain-seconds <number>",
      "seconds for which a stopping server still serves requests but reports that it is not ready, so that load balancers stop using it; also MILLRACE_DRAIN_SECONDS",
      "0",
    )
    .option(
      "--tenant-rate <number>",
      "maximum requests of a tenant per second; unlimited by default; also MILLRACE_TENANT_RATE",
    )
    .option(
      "--tenant-ingest-bytes <number>",
      "maximum bytes of runs, spans and feedback that a tenant sends per day; unlimited by default; also MILLRACE_TENANT_INGEST_BYTES",
    )
    .option(
      "--tenant-max-runs <number>",
      "maximum number of stored runs of a tenant; unlimited by default; also MILLRACE_TENANT_MAX_RUNS",
    )
    .option(
      "--tenant-max-bytes <number>",
      "maximum bytes of the payloads and attachments of a tenant's runs; unlimited by default; also MILLRACE_TENANT_MAX_BYTES",
    )
    .option(
      "--public-url <url>",
      "address at which a proxy publishes the server, such as https://traces.example.com/millrace; links begin with it; also MILLRACE_PUBLIC_URL",
    )
    .addOption(
      new Option(
        "--trust-proxy <address>",
        "proxy whose X-Forwarded-For and X-Forwarded-Proto are used: an address, a range such as 10.0.0.0/8, or loopback; may be repeated; also MILLRACE_TRUST_PROXY, comma-separated",
      )
        .argParser(appendText)
        .default([], "none"),
    )
    .option(
      "--tls-cert <file>",
      "certificate file for HTTPS, in PEM format; read again when it changes; also MILLRACE_TLS_CERT",
    )
    .option("--tls-key <file>", "private key file for HTTPS, in PEM format; also MILLRACE_TLS_KEY")
    .option("--open", "open the UI in a browser")
    .action((flags: ServeFlags) => serve(applyVariables(command, flags, env), env));
  addHelpExamples(command, [
    "millrace serve",
    "millrace serve --port 0 --data ./traces --open",
    "MILLRACE_API_KEY=secret millrace serve --host 0.0.0.0",
    "millrace serve --log nats://10.0.0.1,10.0.0.2,10.0.0.3",
    "MILLRACE_MODEL_KEY_OPENAI=sk-... millrace serve --model-endpoint openai=https://api.openai.com/v1",
  ]);
}

/** For each flag, the environment variable that is used if the flag is not given. */
const variablesByFlag = {
  port: "MILLRACE_PORT",
  host: "MILLRACE_HOST",
  data: "MILLRACE_DATA_DIR",
  store: "MILLRACE_STORE_URL",
  queryTimeoutMs: "MILLRACE_QUERY_TIMEOUT_MS",
  modelRate: "MILLRACE_MODEL_RATE",
  modelBudget: "MILLRACE_MODEL_BUDGET",
  log: "MILLRACE_LOG",
  logMaxBytes: "MILLRACE_LOG_MAX_BYTES",
  logWriter: "MILLRACE_LOG_WRITER",
  jobRunner: "MILLRACE_JOB_RUNNER",
  auditDays: "MILLRACE_AUDIT_DAYS",
  logFormat: "MILLRACE_LOG_FORMAT",
  otelEndpoint: "MILLRACE_OTEL_ENDPOINT",
  drainSeconds: "MILLRACE_DRAIN_SECONDS",
  tenantRate: "MILLRACE_TENANT_RATE",
  tenantIngestBytes: "MILLRACE_TENANT_INGEST_BYTES",
  tenantMaxRuns: "MILLRACE_TENANT_MAX_RUNS",
  tenantMaxBytes: "MILLRACE_TENANT_MAX_BYTES",
  publicUrl: "MILLRACE_PUBLIC_URL",
  tlsCert: "MILLRACE_TLS_CERT",
  tlsKey: "MILLRACE_TLS_KEY",
} as const;

function applyVariables(command: Command, flags: ServeFlags, env: NodeJS.ProcessEnv): ServeFlags {
  const entriesFromEnv = Object.entries(variablesByFlag).flatMap(
    ([flag, variable]): [string, string][] => {
      const text = ignoreEmpty(env[variable]);
      const source = command.getOptionValueSource(flag) ?? "default";
      return source === "default" && text !== undefined ? [[flag, text]] : [];
    },
  );
  return { ...flags, ...Object.fromEntries(entriesFromEnv) };
}

const appendText = (text: string, texts: readonly string[]): readonly string[] => [...texts, text];

async function serve(flags: ServeFlags, env: NodeJS.ProcessEnv): Promise<void> {
  const { port, host, data, store, apiKey, apiKeyFile, queryTimeoutMs, webhookHost, open } = flags;
  const stopRequest = waitForStopRequest(env);
  const keyFilePath = apiKeyFile ?? ignoreEmpty(env["MILLRACE_API_KEY_FILE"]);
  const apiKeys = [
    ...apiKey,
    ...(keyFilePath === undefined ? [] : await readKeys(keyFilePath)),
    ...[env["MILLRACE_API_KEY"]].flatMap((key) => ignoreEmpty(key) ?? []),
  ];
  const server = await start({
    port: parsePort(port),
    host,
    dataDir: data,
    ...(store === undefined ? {} : { store }),
    apiKeys,
    queryTimeoutMs: parseMs(queryTimeoutMs),
    ...(await readModelOptions(flags, env)),
    webhookHosts: webhookHost.length > 0 ? webhookHost : readList(env["MILLRACE_WEBHOOK_HOSTS"]),
    ...readLogOptions(flags),
    // The cast is safe, because the server validates the value.
    ...(flags.jobRunner === undefined
      ? {}
      : { jobRunner: flags.jobRunner as NonNullable<ServerOptions["jobRunner"]> }),
    auditDays: parseNumber("auditDays", flags.auditDays),
    // The cast is safe, because the server validates the format.
    ...(flags.logFormat === undefined
      ? {}
      : { logFormat: flags.logFormat as NonNullable<ServerOptions["logFormat"]> }),
    ...(flags.otelEndpoint === undefined ? {} : { otelEndpoint: flags.otelEndpoint }),
    drainSeconds: parseNumber("drainSeconds", flags.drainSeconds),
    ...parseLimit("tenantRate", flags.tenantRate),
    ...parseLimit("tenantIngestBytes", flags.tenantIngestBytes),
    ...parseLimit("tenantMaxRuns", flags.tenantMaxRuns),
    ...parseLimit("tenantMaxBytes", flags.tenantMaxBytes),
    ...readNetworkOptions(flags, env),
  });
  const location = store === undefined ? data : `PostgreSQL at ${await describeStore(store)}`;
  process.stdout.write(`millrace listens on ${server.url} and keeps its data in ${location}\n`);
  if (server.log !== undefined) {
    const { address, replicas } = server.log;
    process.stdout.write(
      `Runs are acknowledged when ${replicas === 1 ? "1 server" : `${replicas} servers`} of ${address} have stored them\n`,
    );
  }
  if (server.publicUrl !== undefined) {
    process.stdout.write(`Clients reach it at ${server.publicUrl}\n`);
  }
  if (server.modelToken !== undefined) {
    process.stdout.write(
      `The playground asks for this token before it calls models: ${server.modelToken}\n`,
    );
  }
  if (open === true) {
    openBrowser(server.publicUrl ?? server.url);
  }
  await stopRequest;
  await server.close();
}

/** Returns the hosts and the database of a store's URL, without the password. */
async function describeStore(store: string): Promise<string> {
  const { describeStoreUrl } = await import("@millrace/server");
  return describeStoreUrl(store);
}

/** Reads the flags for models, and the keys of model endpoints from environment variables. */
async function readModelOptions(
  { modelEndpoint, modelRate, modelBudget }: ServeFlags,
  env: NodeJS.ProcessEnv,
): Promise<Pick<ServerOptions, "modelEndpoints" | "modelRate" | "modelBudget">> {
  const { toKeyVariable } = await import("@millrace/server");
  return {
    modelEndpoints: modelEndpoint.map((text) => {
      const { name = "", url = "" } = /^(?<name>[^=]*)=(?<url>.*)$/s.exec(text)?.groups ?? {};
      if (name === "" || url === "") {
        throw new UsageError(
          "--model-endpoint must be a name and a URL, such as openai=https://api.openai.com/v1",
        );
      }
      const apiKey = ignoreEmpty(env[toKeyVariable(name)]);
      return { name, url, ...(apiKey === undefined ? {} : { apiKey }) };
    }),
    modelRate: parseNumber("modelRate", modelRate),
    ...(modelBudget === undefined ? {} : { modelBudget: parseNumber("modelBudget", modelBudget) }),
  };
}

/** Reads the flags for the ingest log. */
function readLogOptions({
  log,
  logMaxBytes,
  logWriter,
}: ServeFlags): Pick<ServerOptions, "log" | "logMaxBytes" | "logWriter"> {
  if (!/^\d{1,16}$/.test(logMaxBytes)) {
    throw new UsageError(
      `--log-max-bytes (MILLRACE_LOG_MAX_BYTES) must be a whole number of bytes, such as ${defaultLogBytes}, not ${JSON.stringify(logMaxBytes)}`,
    );
  }
  return {
    logMaxBytes: Number(logMaxBytes),
    ...(log === undefined ? {} : { log }),
    // The cast is safe, because the server validates the value.
    ...(logWriter === undefined
      ? {}
      : { logWriter: logWriter as NonNullable<ServerOptions["logWriter"]> }),
  };
}

/** Parses an optional limit. */
const parseLimit = (
  flag: "tenantRate" | "tenantIngestBytes" | "tenantMaxRuns" | "tenantMaxBytes",
  text: string | undefined,
): Pick<ServerOptions, typeof flag> =>
  text === undefined ? {} : { [flag]: parseNumber(flag, text) };

/** Parses a number. Negative numbers are accepted here: the server checks the range, and its error names the limits. */
function parseNumber(flag: keyof typeof variablesByFlag, text: string): number {
  if (!/^-?\d{1,16}(?:\.\d{1,9})?$/.test(text)) {
    throw new UsageError(
      `--${toKebabCase(flag)} (${variablesByFlag[flag]}) must be a number in digits, such as 10, not ${JSON.stringify(text)}`,
    );
  }
  return Number(text);
}

/** Treats a variable that is set to an empty string as not set. */
const ignoreEmpty = (value: string | undefined): string | undefined =>
  value === undefined || value === "" ? undefined : value;

/** Reads the flags for proxies and TLS. */
function readNetworkOptions(
  { publicUrl, trustProxy, tlsCert, tlsKey }: ServeFlags,
  env: NodeJS.ProcessEnv,
): Pick<ServerOptions, "publicUrl" | "trustedProxies" | "tlsCert" | "tlsKey"> {
  return {
    trustedProxies: trustProxy.length > 0 ? trustProxy : readList(env["MILLRACE_TRUST_PROXY"]),
    ...(publicUrl === undefined ? {} : { publicUrl }),
    ...(tlsCert === undefined ? {} : { tlsCert }),
    ...(tlsKey === undefined ? {} : { tlsKey }),
  };
}

/** Returns the items of a comma-separated environment variable, which is used if the flag is not given. */
const readList = (text: string | undefined): readonly string[] =>
  (ignoreEmpty(text) ?? "")
    .split(",")
    .map((item) => item.trim())
    .filter((item) => item !== "");

/** Reads a key file: one key per line; blank lines and lines that begin with # are ignored. */
async function readKeys(path: string): Promise<readonly string[]> {
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (cause) {
    throw new UsageError(`the key file ${path} can't be read: ${String(cause)}`, { cause });
  }
  const keys = text
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter((line) => line !== "" && !line.startsWith("#"));
  if (keys.length === 0) {
    throw new UsageError(`the key file ${path} contains no key; write one key per line`);
  }
  return keys;
}

async function start(options: ServerOptions): Promise<RunningServer> {
  const { startServer } = await import("@millrace/server");
  try {
    return await startServer(options);
  } catch (cause) {
    throw cause instanceof OptionError ? toUsageError(cause, options) : cause;
  }
}

/** Converts an error about the server's options to one whose message contains the command's flags. */
function toUsageError(cause: OptionError, { host, apiKeys = [] }: ServerOptions): UsageError {
  if (cause.message.startsWith("webhookHosts ")) {
    const reason = cause.message.replace("webhookHosts ", "");
    return new UsageError(`--webhook-host (MILLRACE_WEBHOOK_HOSTS) ${reason}`, { cause });
  }
  if (cause.message.startsWith("trustedProxies ")) {
    const reason = cause.message.replace("trustedProxies ", "");
    return new UsageError(`--trust-proxy (MILLRACE_TRUST_PROXY) ${reason}`, { cause });
  }
  if (cause.message.startsWith("apiKeys ")) {
    return new UsageError(
      "--api-key must be a key of printable ASCII characters, without spaces and not empty; so must MILLRACE_API_KEY and each line of --api-key-file",
      { cause },
    );
  }
  const flag = /^\w+/.exec(cause.message)?.[0] ?? "";
  const variable = Object.entries(variablesByFlag).find(([name]) => name === flag)?.[1];
  const isKeyMissing =
    apiKeys.length === 0 && /^host .*reachable from other machines/.test(cause.message);
  const message = isKeyMissing
    ? `--host ${host} is reachable from other machines and needs a key: pass --api-key-file <path> or --api-key <key>, or set MILLRACE_API_KEY, or listen on 127.0.0.1`
    : cause.message
        .replace(flag, variable === undefined ? flag : `--${toKebabCase(flag)} (${variable})`)
        .replace(
          /reachable from other machines: set apiKeys$/,
          "reachable from other machines: pass --api-key-file <path> or --api-key <key>, or set MILLRACE_API_KEY; a key of millrace keys create is accepted too, but is not enough to start",
        )
        // If only one of the two TLS files is given, the message names the options of both.
        .replace(/ needs (tlsCert|tlsKey):/, (_, name: string) => ` needs --${toKebabCase(name)}:`);
  return new UsageError(message, { cause });
}

const toKebabCase = (name: string): string =>
  name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

function parseMs(text: string): number {
  if (!/^\d{1,9}$/.test(text)) {
    throw new UsageError(
      `--query-timeout-ms (MILLRACE_QUERY_TIMEOUT_MS) must be a whole number of milliseconds, such as 10000, not ${JSON.stringify(text)}`,
    );
  }
  return Number(text);
}

function parsePort(text: string): number {
  if (!/^\d{1,5}$/.test(text)) {
    throw new UsageError(
      `--port (MILLRACE_PORT) must be a whole number from 0 to 65535, not ${JSON.stringify(text)}`,
    );
  }
  return Number(text);
}
