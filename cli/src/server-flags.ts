import type { Client, ClientOptions } from "millrace";
import type { Command } from "commander";
import { OptionError } from "millrace/model";
import { UsageError } from "./usage-error.ts";

/** The options of whatever talks to a server. */
export interface ServerFlags {
  readonly endpoint?: string;
  readonly apiKey?: string;
}

export const addServerFlags = (command: Command): Command =>
  command
    .option("--endpoint <address>", "server; also MILLRACE_ENDPOINT")
    .option(
      "--key, --api-key <key>",
      "also MILLRACE_API_KEY, which other users of the machine don't see",
    );

/** Does something with a client, and gives back what it took. @throws {@link UsageError} an option can't be. */
export async function withClient<Result>(
  { endpoint, apiKey }: ServerFlags,
  settings: ClientOptions,
  work: (client: Client) => Promise<Result>,
): Promise<Result> {
  const client = await createClient({ ...settings, endpoint, apiKey });
  try {
    return await work(client);
  } finally {
    await client.close();
  }
}

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
