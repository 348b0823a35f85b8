import type { Client, ClientOptions } from "millrace";
import type { Command } from "commander";
import { defaultEndpoint, OptionError, variablesOf } from "millrace/model";
import { UsageError } from "../usage-error.ts";

/** The options of whatever talks to a server. */
export interface ServerFlags {
  readonly endpoint?: string | undefined;
  readonly apiKey?: string | undefined;
}

export const addServerFlags = (command: Command): Command =>
  command
    .option("--endpoint <address>", "address of the server; also MILLRACE_ENDPOINT")
    .option(
      "--key, --api-key <key>",
      "API key; MILLRACE_API_KEY hides it from other users of the machine",
    );

/**
 * Does something with a client of a server that answers, and gives back what it took.
 *
 * @throws {@link UsageError} an option can't be.
 */
export async function withClient<Result>(
  { endpoint, apiKey }: ServerFlags,
  settings: ClientOptions,
  work: (client: Client) => Promise<Result>,
): Promise<Result> {
  await reach({ endpoint, apiKey });
  const client = await createClient({ ...settings, endpoint, apiKey });
  try {
    return await work(client);
  } finally {
    await client.close();
  }
}

/** With a client of its own: one try takes seconds, and its end must not wait for anything. */
async function reach({ endpoint, apiKey }: ServerFlags): Promise<void> {
  const tries = { attempts: 1, timeoutMs: firstAnswerMs, workers: 0 };
  const client = await createClient({ ...tries, endpoint, apiKey });
  try {
    const { reachServer } = await import("./reach-server.ts");
    await reachServer(client, { endpoint: endpointOf({ endpoint }) });
  } finally {
    await client.close({ timeoutMs: 0 });
  }
}

/** Longest wait for the first answer of a server. */
const firstAnswerMs = 5_000;

/** The address that a client asks: the option, the environment, or the default. */
const endpointOf = ({ endpoint }: ServerFlags): string =>
  endpoint ??
  variablesOf("endpoint")
    .map((name) => process.env[name])
    .find((value) => value !== undefined && value.trim() !== "") ??
  defaultEndpoint;

/** The client is loaded here: other commands start without it. */
async function createClient(options: ClientOptions): Promise<Client> {
  const { Client } = await import("millrace");
  try {
    return new Client(options);
  } catch (cause) {
    throw cause instanceof OptionError ? new UsageError(cause.message, { cause }) : cause;
  }
}

/** A dataset is named, or given by its id. */
export const isId = (text: string): boolean =>
  /^[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}$/i.test(text);

/** Listens for who wants it ended: the first signal ends it cleanly, a second one at once. */
export function endSignal(): AbortSignal {
  const ending = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    process.once(signal, () => ending.abort(new Error(`ended by ${signal}`)));
  }
  return ending.signal;
}
