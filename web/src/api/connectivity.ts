/** Whether the server answered when it was last asked. */
let isGone = false;
const listeners = new Set<() => void>();

export const readIsGone = (): boolean => isGone;

export function onReach(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** The server answered, or did not. */
export function noteReach(answered: boolean): void {
  if (isGone === answered) {
    isGone = !answered;
    listeners.forEach((listener) => listener());
  }
}
