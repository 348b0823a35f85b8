/** Whether the server answered when it was last asked. */
let isOffline = false;
const listeners = new Set<() => void>();

export const readIsOffline = (): boolean => isOffline;

export function subscribeToConnectivity(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** The server answered, or did not. */
export function reportConnectivity(answered: boolean): void {
  if (isOffline === answered) {
    isOffline = !answered;
    listeners.forEach((listener) => listener());
  }
}
