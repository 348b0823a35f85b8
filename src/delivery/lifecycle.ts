import { isMainThread } from "node:worker_threads";
import { notifyFlush } from "../tracing/runs/flush-listeners.ts";

/** A client that must act when the process ends. */
export interface EndListener {
  /** Returns whether records are still undelivered. */
  hasPending(): boolean;
  /** Called when the event loop is empty: waits for pending records, at most `drainTimeoutMs`. */
  onNaturalEnd(): Promise<void>;
  /**
   * Called before the process exits: blocks until pending records are delivered, at most
   * `exitTimeoutMs`.
   */
  onForcedEnd(): void;
}

const signals = ["SIGTERM", "SIGINT"] as const;

const endListeners = new Set<EndListener>();
/** Clients that still had pending records after `onNaturalEnd`. The process does not wait for them again. */
const listenersWaitedFor = new WeakSet<EndListener>();

/**
 * Registers a client that is called when the process ends. Returns a function that unregisters the client; a second
 * call of that function has no effect.
 */
export function watchEnd(endListener: EndListener): () => void {
  if (endListeners.size === 0) {
    process.on("beforeExit", onBeforeExit);
    process.on("exit", onExit);
    addSignalListeners();
  }
  endListeners.add(endListener);
  return () => {
    if (endListeners.delete(endListener) && endListeners.size === 0) {
      process.off("beforeExit", onBeforeExit);
      process.off("exit", onExit);
      for (const signal of signals) {
        process.off(signal, onSignal);
      }
    }
  };
}

/**
 * Handles signals in the main thread only, because only it receives them; a worker thread of the program is ended by
 * its parent. The listener must run before those of the program: it counts them, and Node removes a listener that was
 * added with `once` from the list when it calls that listener.
 */
function addSignalListeners(): void {
  if (isMainThread) {
    for (const signal of signals) {
      process.prependListener(signal, onSignal);
    }
  }
}

/**
 * Node calls this when the event loop is empty, and again each time the event loop becomes empty after more work. A
 * client that still had pending records after one wait is not waited for again.
 */
function onBeforeExit(): void {
  notifyFlush({ client: undefined, isFinal: true });
  for (const endListener of endListeners) {
    if (endListener.hasPending() && !listenersWaitedFor.has(endListener)) {
      void waitForListener(endListener);
    }
  }
}

async function waitForListener(endListener: EndListener): Promise<void> {
  await endListener.onNaturalEnd();
  if (endListener.hasPending()) {
    listenersWaitedFor.add(endListener);
  }
}

function onExit(): void {
  notifyFlush({ client: undefined, isFinal: true });
  for (const endListener of endListeners) {
    endListener.onForcedEnd();
  }
}

/**
 * If the program handles the signal itself, the program decides what happens. If it then ends the process, the event
 * `exit` follows, and {@link onExit} delivers the records. Otherwise the signal would end the process before the
 * records are delivered, so this function delivers them and then ends the process with the same signal.
 */
function onSignal(signal: NodeJS.Signals): void {
  if (process.listenerCount(signal) - 1 > countExitHooks()) {
    return;
  }
  onExit();
  process.off(signal, onSignal);
  process.kill(process.pid, signal);
}

/**
 * Counts the listeners of the package signal-exit, which many libraries use. They are not handlers of the program: like
 * `onSignal`, they let a signal end the process unless the program handles it. If `onSignal` counted them as handlers,
 * both packages would leave the signal to each other and the process would not end. Versions 3 and 4 store their
 * emitters at these two locations.
 */
function countExitHooks(): number {
  const emitters: unknown[] = [
    Reflect.get(globalThis, Symbol.for("signal-exit emitter")),
    Reflect.get(process, "__signal_exit_emitter__"),
  ];
  let exitHooks = 0;
  for (const emitter of emitters) {
    if (typeof emitter === "object" && emitter !== null && "count" in emitter) {
      exitHooks += typeof emitter.count === "number" ? emitter.count : 0;
    }
  }
  return exitHooks;
}
