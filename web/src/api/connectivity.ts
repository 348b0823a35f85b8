/** Whether the last request got no response. */
let isOffline = false;
const listeners = new Set<() => void>();

export const readIsOffline = (): boolean => isOffline;

export function subscribeToConnectivity(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Must be called after each request, with whether the server responded. */
export function reportConnectivity(answered: boolean): void {
  if (isOffline === answered) {
    isOffline = !answered;
    listeners.forEach((listener) => listener());
  }
}
