import { isMainThread } from "node:worker_threads";

/** What a client does when the process ends. */
export interface Endable {
  /** Whether anything is not delivered yet. */
  hasPending(): boolean;
  /** The loop is empty: waits for what is pending, at most `drainTimeoutMs`. */
  onNaturalEnd(): Promise<void>;
  /** The process ends after this call: blocks for what is pending, at most `exitTimeoutMs`. */
  onForcedEnd(): void;
}

const signals = ["SIGTERM", "SIGINT"] as const;

const clients = new Set<Endable>();
/** Clients whose natural end was waited for in vain: not waited for again. */
const waitedFor = new WeakSet<Endable>();

/** Has a client hear of the process's end. The answer takes it off again; calling that twice is fine. */
export function watchEnd(client: Endable): () => void {
  if (clients.size === 0) {
    process.on("beforeExit", onBeforeExit);
    process.on("exit", onExit);
    listenToSignals();
  }
  clients.add(client);
  return () => {
    if (clients.delete(client) && clients.size === 0) {
      process.off("beforeExit", onBeforeExit);
      process.off("exit", onExit);
      for (const signal of signals) {
        process.off(signal, onSignal);
      }
    }
  };
}

/**
 * Signals reach the main thread only; a worker of the program is ended by its own parent. Ours comes
 * first: a handler of the program's made with `once` is gone from the list when its turn is over.
 */
function listenToSignals(): void {
  if (isMainThread) {
    for (const signal of signals) {
      process.prependListener(signal, onSignal);
    }
  }
}

/** The loop is empty, again each time that what keeps it busy ends: waits once for each client. */
function onBeforeExit(): void {
  for (const client of clients) {
    if (client.hasPending() && !waitedFor.has(client)) {
      void waitFor(client);
    }
  }
}

async function waitFor(client: Endable): Promise<void> {
  await client.onNaturalEnd();
  if (client.hasPending()) {
    waitedFor.add(client);
  }
}

function onExit(): void {
  for (const client of clients) {
    client.onForcedEnd();
  }
}

/**
 * With a handler of the program's own the signal is the program's matter, and `exit` follows. Without
 * one the signal ends the process, as it does without us: after the delivery, and by the same signal.
 */
function onSignal(signal: NodeJS.Signals): void {
  if (process.listenerCount(signal) - 1 > exitHooks()) {
    return;
  }
  onExit();
  process.off(signal, onSignal);
  process.kill(process.pid, signal);
}

/**
 * Listeners of the package signal-exit, which many libraries bring along. They are no handlers of the
 * program's: like ours they let a signal end the process, unless somebody else listens. Each of the
 * two must not take the other for that somebody. Its emitters are where its versions 3 and 4 put them.
 */
function exitHooks(): number {
  const emitters: unknown[] = [
    Reflect.get(globalThis, Symbol.for("signal-exit emitter")),
    Reflect.get(process, "__signal_exit_emitter__"),
  ];
  let hooks = 0;
  for (const emitter of emitters) {
    if (typeof emitter === "object" && emitter !== null && "count" in emitter) {
      hooks += typeof emitter.count === "number" ? emitter.count : 0;
    }
  }
  return hooks;
}
