import { readFile } from "node:fs/promises";
import {
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
  readonly open?: true;
}

/** Default folder of the database. */
export const defaultDataDir = "./.millrace";

/** Adds `millrace serve`. */
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
      "database of PostgreSQL that holds the data in place of the folder, such as postgres://host:5432/database; also MILLRACE_STORE_URL, which hides the password from the list of processes",
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
        `endpoint at which the playground may call models, such as openai=https://api.openai.com/v1; may be repeated. The API is that of OpenAI's chat completions, unless the URL is one of Anthropic, or begins with openai-responses+ or anthropic+. A host name with a private address needs private+ before the URL. The key is read from MILLRACE_MODEL_KEY_<NAME>, or entered in the UI`,
      )
        .argParser(appendText)
        .default([], "none"),
    )
    .option(
      "--model-rate <number>",
      "model calls that a tenant may make in a minute; also MILLRACE_MODEL_RATE",
      String(defaultModelRate),
    )
    .option(
      "--model-budget <dollars>",
      "most that the model calls of a tenant may cost in a day, in US dollars; unlimited by default; also MILLRACE_MODEL_BUDGET",
    )
    .addOption(
      new Option(
        "--webhook-host <host[:port]>",
        "host to which webhooks may be sent although it is private or uses http; may be repeated; also MILLRACE_WEBHOOK_HOSTS, comma-separated",
      )
        .argParser(appendText)
        .default([], "none"),
    )
    .option("--open", "open the UI in a browser")
    .action((flags: ServeFlags) => serve(applyVariables(command, flags, env), env));
  addHelpExamples(command, [
    "millrace serve",
    "millrace serve --port 0 --data ./traces --open",
    "MILLRACE_API_KEY=secret millrace serve --host 0.0.0.0",
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
    webhookHosts: webhookHost.length > 0 ? webhookHost : readHosts(env),
  });
  const place = store === undefined ? data : `PostgreSQL at ${await describeStore(store)}`;
  process.stdout.write(`millrace listens on ${server.url} and keeps its data in ${place}\n`);
  if (server.modelToken !== undefined) {
    process.stdout.write(
      `The playground asks for this token before it calls models: ${server.modelToken}\n`,
    );
  }
  if (open === true) {
    openBrowser(server.url);
  }
  await stopRequest;
  await server.close();
}

/** The hosts and the database of a store, without the password. */
async function describeStore(store: string): Promise<string> {
  const { describeStoreUrl } = await import("@millrace/server");
  return describeStoreUrl(store);
}

/** Reads the flags about models, and the keys of the endpoints from the environment. */
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

/** Parses a number. The server checks its range. */
function parseNumber(flag: "modelRate" | "modelBudget", text: string): number {
  if (!/^\d{1,9}(?:\.\d{1,9})?$/.test(text)) {
    throw new UsageError(
      `--${toKebabCase(flag)} (${variablesByFlag[flag]}) must be a number, such as 10, not ${JSON.stringify(text)}`,
    );
  }
  return Number(text);
}

/** Treats a variable that is set to an empty string as not set. */
const ignoreEmpty = (value: string | undefined): string | undefined =>
  value === undefined || value === "" ? undefined : value;

/** The hosts of the variable that is used if the flag is not given. */
const readHosts = (env: NodeJS.ProcessEnv): readonly string[] =>
  (ignoreEmpty(env["MILLRACE_WEBHOOK_HOSTS"]) ?? "")
    .split(",")
    .map((host) => host.trim())
    .filter((host) => host !== "");

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

/** Converts an error of the server's options to an error that names the command's flags. */
function toUsageError(cause: OptionError, { host, apiKeys = [] }: ServerOptions): UsageError {
  if (cause.message.startsWith("webhookHosts ")) {
    const reason = cause.message.replace("webhookHosts ", "");
    return new UsageError(`--webhook-host (MILLRACE_WEBHOOK_HOSTS) ${reason}`, { cause });
  }
  const flag =
    /^(?:port|host|store|queryTimeoutMs|modelRate|modelBudget)\b/.exec(cause.message)?.[0] ?? "";
  const variable = Object.entries(variablesByFlag).find(([name]) => name === flag)?.[1];
  const isKeyMissing =
    apiKeys.length === 0 && cause.message.includes("reachable from other machines");
  const message = isKeyMissing
    ? `--host ${host} is reachable from other machines and needs a key: pass --api-key-file <path> or --api-key <key>, or set MILLRACE_API_KEY, or listen on 127.0.0.1`
    : cause.message.replace(
        flag,
        variable === undefined ? flag : `--${toKebabCase(flag)} (${variable})`,
      );
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
