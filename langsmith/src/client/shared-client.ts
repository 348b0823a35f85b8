import { Client } from "./client.ts";

let sharedClient: Client | undefined;

/** The client of runs that name none. It is created when it is first needed, from the environment. */
export function findSharedClient(): Client {
  sharedClient ??= new Client();
  return sharedClient;
}
