import type { Client, ClientOptions } from "millrace";
import type { Command } from "commander";
import { defaultEndpoint, OptionError, variablesOf } from "millrace/model";
import { UsageError } from "../usage-error.ts";

/** The flags of every command that connects to a server. */
export interface ServerFlags {
  readonly endpoint?: string | undefined;
  readonly apiKey?: string | undefined;
}

/** Adds the flags of {@link ServerFlags} to a command. */
export const addServerFlags = (command: Command): Command =>
  command
    .option("--endpoint <address>", "server URL; also MILLRACE_ENDPOINT")
    .option(
      "--key, --api-key <key>",
      "API key; use MILLRACE_API_KEY to hide it from other users of the machine",
    );

/**
 * Calls `callback` with a client, after checking that the server responds. Closes the client at the end.
 *
 * @throws {@link UsageError} if an option is invalid.
 */
export async function withClient<Result>(
  { endpoint, apiKey }: ServerFlags,
  settings: ClientOptions,
  callback: (client: Client) => Promise<Result>,
): Promise<Result> {
  await assertReachable({ endpoint, apiKey });
  const client = await createClient({ ...settings, endpoint, apiKey });
  try {
    return await callback(client);
  } finally {
    await client.close();
  }
}

/**
 * Checks that the server responds. The check uses its own client with a single attempt and a short timeout, so that
 * it fails within seconds.
 */
async function assertReachable({ endpoint, apiKey }: ServerFlags): Promise<void> {
  const singleAttempt = { attempts: 1, timeoutMs: firstResponseTimeoutMs, workers: 0 };
  const client = await createClient({ ...singleAttempt, endpoint, apiKey });
  try {
    const { waitForServer } = await import("./wait-for-server.ts");
    await waitForServer(client, { endpoint: resolveEndpoint({ endpoint }) });
  } finally {
    await client.close({ timeoutMs: 0 });
  }
}

/** Longest wait for the first response of a server, in milliseconds. */
const firstResponseTimeoutMs = 5_000;

/**
 * Returns the server URL: from the flag, otherwise from the environment, otherwise the default. A client does the same.
 */
const resolveEndpoint = ({ endpoint }: ServerFlags): string =>
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

/**
 * Checks the flags of a command that passes them on to a child process.
 *
 * @throws {@link UsageError} if a flag is invalid.
 */
export async function checkServerFlags({ endpoint, apiKey }: ServerFlags): Promise<void> {
  if (endpoint !== undefined || apiKey !== undefined) {
    await (await createClient({ endpoint, apiKey, enabled: false })).close({ timeoutMs: 0 });
  }
}

/** Whether a text is an id. Commands accept the id or the name of a dataset. */
export const isId = (text: string): boolean =>
  /^[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}$/i.test(text);

/**
 * Returns an abort signal that SIGINT or SIGTERM aborts, so that the command ends cleanly. If the process receives the
 * same signal again, it ends immediately.
 */
export function createInterruptSignal(): AbortSignal {
  const controller = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    process.once(signal, () => controller.abort(new Error(`interrupted by ${signal}`)));
  }
  return controller.signal;
}
