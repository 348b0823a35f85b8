import { readFile } from "node:fs/promises";
import { defaultPort, defaultQueryTimeoutMs } from "@millrace/server/default-port";
import type { RunningServer, ServerOptions } from "@millrace/server";
import type { Command } from "commander";
import { OptionError } from "millrace/model";
import { addExamples } from "../examples.ts";
import { openBrowser } from "../local-server/open-browser.ts";
import { nextStopRequest } from "../transfers/stop-request.ts";
import { UsageError } from "../usage-error.ts";

interface ServeFlags {
  readonly port: string;
  readonly host: string;
  readonly data: string;
  readonly apiKey: readonly string[];
  readonly apiKeyFile?: string;
  readonly queryTimeoutMs: string;
  readonly open?: true;
}

/** Where the data is kept unless it is said otherwise. */
export const defaultDataDir = "./.millrace";

/** Adds `millrace serve`. */
export function addServe(program: Command, env: NodeJS.ProcessEnv): void {
  const command = program
    .command("serve")
    .description("Start the local server; Ctrl-C ends it.")
    .option(
      "--port <number>",
      "TCP port; 0 takes any free one; also MILLRACE_PORT",
      String(defaultPort),
    )
    .option(
      "--host <address>",
      "address to listen on; all but loopback need a key; also MILLRACE_HOST",
      "127.0.0.1",
    )
    .option("--data <folder>", "folder of the database; also MILLRACE_DATA_DIR", defaultDataDir)
    .option(
      "--api-key-file <path>",
      "file with a key to let in on each line; also MILLRACE_API_KEY_FILE and MILLRACE_API_KEY",
    )
    .option(
      "--api-key <key>",
      "key to let in; may be repeated; every user of the machine can see it",
      addKey,
      [],
    )
    .option(
      "--query-timeout-ms <number>",
      "longest time for one query, in milliseconds; also MILLRACE_QUERY_TIMEOUT_MS",
      String(defaultQueryTimeoutMs),
    )
    .option("--open", "open the address in a browser")
    .action((flags: ServeFlags) => serve(withVariables(command, flags, env), env));
  addExamples(command, [
    "millrace serve",
    "millrace serve --port 0 --data ./traces --open",
    "MILLRACE_API_KEY=secret millrace serve --host 0.0.0.0",
  ]);
}

/** What a variable gives for a flag that is not there. */
const variables = {
  port: "MILLRACE_PORT",
  host: "MILLRACE_HOST",
  data: "MILLRACE_DATA_DIR",
  queryTimeoutMs: "MILLRACE_QUERY_TIMEOUT_MS",
} as const;

function withVariables(command: Command, flags: ServeFlags, env: NodeJS.ProcessEnv): ServeFlags {
  const given = Object.entries(variables).flatMap(([flag, variable]): [string, string][] => {
    const text = textOf(env[variable]);
    return command.getOptionValueSource(flag) === "default" && text !== undefined
      ? [[flag, text]]
      : [];
  });
  return { ...flags, ...Object.fromEntries(given) };
}

const addKey = (key: string, keys: readonly string[]): readonly string[] => [...keys, key];

async function serve(
  { port, host, data, apiKey, apiKeyFile, queryTimeoutMs, open }: ServeFlags,
  env: NodeJS.ProcessEnv,
): Promise<void> {
  const stopped = nextStopRequest(env);
  const file = apiKeyFile ?? textOf(env["MILLRACE_API_KEY_FILE"]);
  const apiKeys = [
    ...apiKey,
    ...(file === undefined ? [] : await readKeys(file)),
    ...[env["MILLRACE_API_KEY"]].flatMap((key) => textOf(key) ?? []),
  ];
  const server = await start({
    port: parsePort(port),
    host,
    dataDir: data,
    apiKeys,
    queryTimeoutMs: parseMs(queryTimeoutMs),
  });
  process.stdout.write(`millrace listens on ${server.url} and keeps its data in ${data}\n`);
  if (open === true) {
    openBrowser(server.url);
  }
  await stopped;
  await server.close();
}

/** A variable that is set to nothing is not set. */
const textOf = (value: string | undefined): string | undefined =>
  value === undefined || value === "" ? undefined : value;

/** The keys of a file, one a line; blank lines and lines that begin with # are none. */
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
    throw new UsageError(`the key file ${path} holds no key: write one on a line of its own`);
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

/** In the words of the command: its flags, not the server's options. */
function toUsageError(cause: OptionError, { host, apiKeys = [] }: ServerOptions): UsageError {
  const flag = /^(?:port|host|queryTimeoutMs)\b/.exec(cause.message)?.[0] ?? "";
  const variable = Object.entries(variables).find(([name]) => name === flag)?.[1];
  const isOpen = apiKeys.length === 0 && cause.message.includes("reachable from other machines");
  const message = isOpen
    ? `--host ${host} is reachable from other machines and needs a key: pass --api-key-file <path> or --api-key <key>, or set MILLRACE_API_KEY, or listen on 127.0.0.1`
    : cause.message.replace(
        flag,
        variable === undefined ? flag : `--${dashed(flag)} (${variable})`,
      );
  return new UsageError(message, { cause });
}

const dashed = (name: string): string =>
  name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

function parseMs(text: string): number {
  if (!/^\d{1,9}$/.test(text)) {
    throw new UsageError(
      `--query-timeout-ms (MILLRACE_QUERY_TIMEOUT_MS) is a whole number of milliseconds, such as 10000, not ${JSON.stringify(text)}`,
    );
  }
  return Number(text);
}

function parsePort(text: string): number {
  if (!/^\d{1,5}$/.test(text)) {
    throw new UsageError(
      `--port (MILLRACE_PORT) is a whole number from 0 to 65535, not ${JSON.stringify(text)}`,
    );
  }
  return Number(text);
}
