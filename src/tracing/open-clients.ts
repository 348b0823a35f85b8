import type { TracingClient } from "./recorder.ts";

/** In the order they were made. */
const openClients = new Set<TracingClient>();
let factory: (() => TracingClient) | undefined;

/** Says that a client is open. The answer takes it off the list; calling that again does nothing. */
export function registerClient(client: TracingClient): () => void {
  openClients.add(client);
  return () => {
    openClients.delete(client);
  };
}

/** Says how a client is made where none is open; wiring, set once. */
export function setClientFactory(create: () => TracingClient): void {
  factory = create;
}

/** The client made first that is still open. */
export const oldestClient = (): TracingClient | undefined => openClients.values().next().value;

/** The oldest open client, else a new one; `undefined` where none can be made. */
export const openClient = (): TracingClient | undefined => oldestClient() ?? factory?.();
