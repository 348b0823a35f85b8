import { randomUUID } from "node:crypto";
import process from "node:process";
import { BroadcastChannel, getEnvironmentData, setEnvironmentData } from "node:worker_threads";

/** The key of the environment data that passes the name of the warning channel to the threads that a thread starts. */
const environmentName = "millrace-warning-channel";

/** A warning of one of the server's threads. */
export interface ThreadWarning {
  readonly thread: string;
  readonly message: string;
}

/**
 * Receives the warnings of this thread and of all threads that it starts from now on, which Node would otherwise print.
 * Returns a function that stops receiving them.
 */
export function receiveWarnings(listener: (warning: ThreadWarning) => void): () => void {
  // Several servers may run in a process: each has a channel of its own.
  const name = `${environmentName}-${randomUUID()}`;
  const channel = new BroadcastChannel(name);
  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- the types of Node 20 declare no other way to listen
  channel.onmessage = (event: unknown) =>
    listener((event as { readonly data: ThreadWarning }).data);
  channel.unref();
  setEnvironmentData(environmentName, name);
  const onWarning = ({ message }: Error): void => listener({ thread: "server", message });
  // Remove Node's listener, which prints warnings.
  process.removeAllListeners("warning");
  process.on("warning", onWarning);
  return () => {
    process.off("warning", onWarning);
    channel.close();
  };
}

/** Passes a warning on from this thread; absent in a thread that does not forward its warnings. */
let forward: ((message: string) => void) | undefined;

/** Passes the warnings of this thread on to the thread that receives them, if one does. */
export function forwardWarnings(thread: string): void {
  const name = getEnvironmentData(environmentName);
  if (typeof name !== "string") {
    return;
  }
  const channel = new BroadcastChannel(name);
  channel.unref();
  forward = (message) => channel.postMessage({ thread, message } satisfies ThreadWarning);
  process.removeAllListeners("warning");
  process.on("warning", ({ message }: Error) => forward?.(message));
}

/**
 * Emits a warning before the thread does anything else, if the thread forwards its warnings. Node emits warnings only
 * once the current call has returned, which may be long afterwards.
 */
function warnNow(message: string): void {
  if (forward === undefined) {
    process.emitWarning(message);
  } else {
    forward(message);
  }
}

/** Warns that a start takes longer because the database has an earlier format. */
export const warnOfConversion = (fromFormat: number, toFormat: number): void =>
  warnNow(
    `converting the database from format ${fromFormat} to format ${toFormat}: if it is large, this takes minutes, and the server listens only afterwards`,
  );
