import { Client } from "./client.ts";

let sharedClient: Client | undefined;

/** Returns the client of runs whose client is not set. The first call creates it from the environment. */
export function findSharedClient(): Client {
  sharedClient ??= new Client();
  return sharedClient;
}

/** Sends what the shared client has recorded, if there is one. Waits at most `timeoutMs`. */
export async function flushSharedClient(timeoutMs: number): Promise<void> {
  await sharedClient?.millrace.flush({ timeoutMs });
}
