import { Client } from "./client.ts";

let sharedClient: Client | undefined;

/**
 * Returns the client of all runs that were created without a client. The first call creates it from environment
 * variables.
 */
export function findSharedClient(): Client {
  sharedClient ??= new Client();
  return sharedClient;
}

/** Sends the records of the shared client, if it was created. Waits at most `timeoutMs`. */
export async function flushSharedClient(timeoutMs: number): Promise<void> {
  await sharedClient?.millrace.flush({ timeoutMs });
}
