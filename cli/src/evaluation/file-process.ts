import { fork } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import type { CurrentRow } from "millrace/evaluation";
import { chooseNodeOptions } from "./loader.ts";
import type { FileMessage, FileSettings } from "./messages.ts";

/** Callbacks for events while a file runs. */
export interface FileEvents {
  readonly onMessage: (message: FileMessage) => void;
  /** Called for each line that the file prints. */
  readonly onLine: (line: string) => void;
  /** Called with the row that was started last, at most once, if the process sends no message for a while. */
  readonly onBlocked: (row: CurrentRow) => void;
}

/** The result of running a file. */
export interface FileEnd {
  /** Why the file as a whole failed, in addition to failures of its evaluations. */
  readonly failure?: string;
  /** The row that was started last, if the process had to be killed because its thread was blocked. */
  readonly blockedRow?: CurrentRow;
}

/** Time for a process to end after its evaluations, in milliseconds. Then it is terminated. */
const endTimeoutMs = 10_000;
/** Time for an interrupted process to end after its evaluations, in milliseconds. Then it is terminated. */
const interruptedEndTimeoutMs = 2_000;
/** Time for a process to react to an interrupt, in milliseconds. Then it is killed. */
const interruptTimeoutMs = 3_000;
/**
 * Time without a message after which the thread of a process counts as blocked, in milliseconds. A thread that is not
 * blocked sends a message at least every 500 ms.
 */
const silenceTimeoutMs = 10_000;

const program = fileURLToPath(new URL("file-program.js", import.meta.url));

/**
 * Runs a file in a separate process.
 *
 * @param interrupt - aborts the file's evaluations. If the process does not react, because a function blocks its
 * thread, it is killed.
 * @throws {@link UsageError} if neither Node nor tsx can run the file.
 */
export async function runFileProcess(
  settings: FileSettings,
  { onMessage, onLine, onBlocked }: FileEvents,
  { env, interrupt }: { readonly env: NodeJS.ProcessEnv; readonly interrupt: AbortSignal },
): Promise<FileEnd> {
  const child = fork(program, [JSON.stringify(settings)], {
    env,
    execArgv: [...chooseNodeOptions(settings.file)],
    stdio: ["ignore", "pipe", "pipe", "ipc"],
    // The child is detached, so that Ctrl-C sends a signal only to this process, which passes it on.
    detached: process.platform !== "win32",
  });
  let isDone = false;
  let failure: string | undefined;
  let lastRow: CurrentRow | undefined;
  let blockedRow: CurrentRow | undefined;
  let hasReacted = false;
  const timers = new Set<NodeJS.Timeout>();
  const callLater = (call: () => void, delayMs: number): void => {
    timers.add(setTimeout(call, delayMs));
  };
  /** Terminates a process that does not end by itself. */
  const endProcess = (): void => {
    child.kill("SIGTERM");
    callLater(() => child.kill("SIGKILL"), endTimeoutMs);
  };
  const silenceTimer = setTimeout(() => {
    if (lastRow !== undefined && !isDone) {
      onBlocked(lastRow);
    }
  }, silenceTimeoutMs);
  child.on("message", (message: FileMessage) => {
    silenceTimer.refresh();
    if (message.type === "row") {
      lastRow = message.row;
    } else if (message.type === "fileFailed") {
      failure = message.message;
    } else if (message.type === "done") {
      isDone = true;
      // An open timer or socket of the file may keep the process alive.
      callLater(endProcess, interrupt.aborted ? interruptedEndTimeoutMs : endTimeoutMs);
    } else if (interrupt.aborted) {
      hasReacted = true;
    }
    onMessage(message);
  });
  const killBlocked = (): void => {
    if (!hasReacted && !isDone) {
      blockedRow = lastRow;
    }
    child.kill("SIGKILL");
  };
  const onInterrupt = (): void => {
    child.kill("SIGINT");
    callLater(() => {
      if (!hasReacted && !isDone) {
        killBlocked();
      } else {
        callLater(endProcess, endTimeoutMs);
      }
    }, interruptTimeoutMs);
  };
  interrupt.addEventListener("abort", onInterrupt, { once: true });
  // With this handler, a second signal also kills the file's process. Without it, the process would continue to run.
  let signalCount = 0;
  const onSignal = (): void => {
    signalCount += 1;
    if (signalCount > 1) {
      killBlocked();
    }
  };
  process.on("SIGINT", onSignal);
  process.on("SIGTERM", onSignal);
  try {
    const lines = [child.stdout, child.stderr].map(async (stream) => {
      for await (const line of createInterface({ input: stream ?? Readable.from([]) })) {
        onLine(line);
      }
    });
    const [code, signal] = (await once(child, "close")) as [number | null, string | null];
    await Promise.all(lines);
    if (!interrupt.aborted && !isDone) {
      failure ??= `its process ended ${signal === null ? `with exit code ${code}` : `by ${signal}`} before its evaluations`;
    } else if (!interrupt.aborted && signal === null && code !== 0) {
      // The file set the exit code itself, or failed outside of its evaluations.
      failure ??= `its process ended with exit code ${code}`;
    }
    return {
      ...(failure === undefined ? {} : { failure }),
      ...(blockedRow === undefined ? {} : { blockedRow }),
    };
  } finally {
    timers.forEach(clearTimeout);
    clearTimeout(silenceTimer);
    interrupt.removeEventListener("abort", onInterrupt);
    process.off("SIGINT", onSignal);
    process.off("SIGTERM", onSignal);
  }
}
