import { recorder } from "../tape/recorder.ts";
import type { TracingClient } from "../tape/recorder.ts";

/** A flush that begins. */
export interface FlushEvent {
  /** The client that is flushed; `undefined` if the process ends, and all clients are flushed. */
  readonly client: TracingClient | undefined;
  /**
   * Whether this is the last flush, because the client is drained or closed or the process ends. The end of a run that
   * is still open after it is not recorded.
   */
  readonly isFinal: boolean;
}

/** Called at the beginning of a flush. What it records is part of that flush. */
export type FlushListener = (event: FlushEvent) => void;

const listeners = new Set<FlushListener>();

/**
 * Calls `listener` at the beginning of each flush of any client, and when the process ends. Use it in code that keeps
 * runs open and may not notice that their work has ended: `listener` ends such runs. `listener` must be synchronous; if
 * it throws, the flush continues.
 *
 * @returns a function that removes the listener; a second call of it has no effect
 */
export function onFlush(listener: FlushListener): () => void {
  // A new function, so that a listener that is added twice can be removed once.
  const registeredListener: FlushListener = (event) => {
    listener(event);
  };
  listeners.add(registeredListener);
  return () => {
    listeners.delete(registeredListener);
  };
}

/** Calls the listeners. Never throws. */
export function notifyFlush(event: FlushEvent): void {
  for (const listener of listeners) {
    try {
      listener(event);
    } catch {
      event.client?.[recorder].warn(
        "hiddenFailure",
        "A function that was passed to onFlush threw; the flush continued.",
      );
    }
  }
}
