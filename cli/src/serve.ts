import { defaultPort } from "@millrace/server/default-port";
import type { RunningServer, ServerOptions } from "@millrace/server";
import type { Command } from "commander";
import { OptionError } from "millrace/model";
import { openBrowser } from "./open-browser.ts";
import { nextStopRequest } from "./stop-request.ts";
import { UsageError } from "./usage-error.ts";

interface ServeFlags {
  readonly port: string;
  readonly host: string;
  readonly data: string;
  readonly apiKey: readonly string[];
  readonly open?: true;
}

/** Where the data is kept unless it is said otherwise. */
export const defaultDataDir = "./.millrace";

/** Adds `millrace serve`. */
export function addServe(program: Command, env: NodeJS.ProcessEnv): void {
  program
    .command("serve")
    .description("Start the local server; Ctrl-C ends it.")
    .option("--port <number>", "TCP port; 0 takes any free one", String(defaultPort))
    .option(
      "--host <address>",
      "address to listen on; other than loopback needs a key",
      "127.0.0.1",
    )
    .option("--data <folder>", "folder of the database", defaultDataDir)
    .option("--api-key <key>", "key to let in; may be repeated; also MILLRACE_API_KEY", addKey, [])
    .option("--open", "open the address in a browser")
    .action((flags: ServeFlags) => serve(flags, env));
}

const addKey = (key: string, keys: readonly string[]): readonly string[] => [...keys, key];

async function serve(
  { port, host, data, apiKey, open }: ServeFlags,
  env: NodeJS.ProcessEnv,
): Promise<void> {
  const stopped = nextStopRequest(env);
  const environmentKey = env["MILLRACE_API_KEY"];
  const apiKeys =
    environmentKey === undefined || environmentKey === "" ? apiKey : [...apiKey, environmentKey];
  const server = await start({ port: parsePort(port), host, dataDir: data, apiKeys });
  process.stdout.write(`millrace listens on ${server.url} and keeps its data in ${data}\n`);
  if (open === true) {
    openBrowser(server.url);
  }
  await stopped;
  await server.close();
}

async function start(options: ServerOptions): Promise<RunningServer> {
  const { startServer } = await import("@millrace/server");
  try {
    return await startServer(options);
  } catch (cause) {
    throw cause instanceof OptionError ? new UsageError(cause.message, { cause }) : cause;
  }
}

function parsePort(text: string): number {
  if (!/^\d{1,5}$/.test(text)) {
    throw new UsageError(`--port is a whole number from 0 to 65535, not ${JSON.stringify(text)}`);
  }
  return Number(text);
}
