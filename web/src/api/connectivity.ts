/** Whether the last request got no response. */
let isOffline = false;
const listeners = new Set<() => void>();

export const readIsOffline = (): boolean => isOffline;

export function subscribeToConnectivity(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Must be called after each request. */
export function reportConnectivity(hasResponse: boolean): void {
  if (isOffline === hasResponse) {
    isOffline = !hasResponse;
    listeners.forEach((listener) => listener());
  }
}
