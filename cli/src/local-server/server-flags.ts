import type { Client, ClientOptions } from "millrace";
import type { Command } from "commander";
import { defaultEndpoint, OptionError, variablesOf } from "millrace/model";
import { UsageError } from "../usage-error.ts";

/** The flags of every command that connects to a server. */
export interface ServerFlags {
  readonly endpoint?: string | undefined;
  readonly apiKey?: string | undefined;
}

export const addServerFlags = (command: Command): Command =>
  command
    .option("--endpoint <address>", "server URL; also MILLRACE_ENDPOINT")
    .option(
      "--key, --api-key <key>",
      "API key; use MILLRACE_API_KEY to hide it from other users of the machine",
    );

/**
 * Runs `work` with a client, after checking that the server responds. Closes the client at the end.
 *
 * @throws {@link UsageError} if an option is invalid.
 */
export async function withClient<Result>(
  { endpoint, apiKey }: ServerFlags,
  settings: ClientOptions,
  work: (client: Client) => Promise<Result>,
): Promise<Result> {
  await assertReachable({ endpoint, apiKey });
  const client = await createClient({ ...settings, endpoint, apiKey });
  try {
    return await work(client);
  } finally {
    await client.close();
  }
}

/**
 * Uses a separate client, which makes a single attempt of a few seconds and does not have to flush when it is
 * closed.
 */
async function assertReachable({ endpoint, apiKey }: ServerFlags): Promise<void> {
  const tries = { attempts: 1, timeoutMs: firstResponseMs, workers: 0 };
  const client = await createClient({ ...tries, endpoint, apiKey });
  try {
    const { reachServer } = await import("./reach-server.ts");
    await reachServer(client, { endpoint: endpointOf({ endpoint }) });
  } finally {
    await client.close({ timeoutMs: 0 });
  }
}

/** Longest wait for the first response of a server, in milliseconds. */
const firstResponseMs = 5_000;

/** The URL that a client uses: from the flag, the environment, or the default. */
const endpointOf = ({ endpoint }: ServerFlags): string =>
  endpoint ??
  variablesOf("endpoint")
    .map((name) => process.env[name])
    .find((value) => value !== undefined && value.trim() !== "") ??
  defaultEndpoint;

/** Loads the client on demand: commands that don't need it start faster. */
async function createClient(options: ClientOptions): Promise<Client> {
  const { Client } = await import("millrace");
  try {
    return new Client(options);
  } catch (cause) {
    throw cause instanceof OptionError ? new UsageError(cause.message, { cause }) : cause;
  }
}

/** Whether the text is an id, not a name: a dataset can be given as either. */
export const isId = (text: string): boolean =>
  /^[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}$/i.test(text);

/**
 * Returns a signal that SIGINT or SIGTERM aborts, so that the command ends cleanly. A second one ends the
 * process at once.
 */
export function createInterruptSignal(): AbortSignal {
  const interruption = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    process.once(signal, () => interruption.abort(new Error(`interrupted by ${signal}`)));
  }
  return interruption.signal;
}
