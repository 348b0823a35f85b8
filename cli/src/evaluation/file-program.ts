// Runs one file with evaluations in a process of its own. So a file that runs again is loaded again, and a function that
// blocks the thread does not block the command.
import { once } from "node:events";
import { createWriteStream } from "node:fs";
import module, { createRequire } from "node:module";
import { join } from "node:path";
import { finished } from "node:stream/promises";
import { setImmediate as nextTurn, setTimeout as delay } from "node:timers/promises";
import { fileURLToPath, pathToFileURL } from "node:url";
import { MessageChannel } from "node:worker_threads";
import { cachedFetch, setEvaluationRunner } from "millrace/evaluation";
import type { Evaluation, EvaluationObserver, EvaluationResult } from "millrace/evaluation";
import { describeInputs } from "./describe-inputs.ts";
import type { FileMessage, FileSettings } from "./messages.ts";

/** How often the progress is reported, in milliseconds. */
const progressIntervalMs = 200;
/** How often the process reports that its thread is not blocked, in milliseconds. */
const aliveIntervalMs = 500;
/** How often the costs are read from the server, in milliseconds. */
const costIntervalMs = 2_000;

type UntypedEvaluation = Evaluation<unknown, unknown, unknown>;

const settings = JSON.parse(process.argv[2] ?? "{}") as FileSettings;
// The file gets the same arguments as with plain node.
process.argv.splice(1, 2, settings.file);

const send = (message: FileMessage): void => {
  if (process.connected) {
    process.send?.(message);
  }
};

const interrupt = new AbortController();
const onSignal = (signal: NodeJS.Signals): void =>
  interrupt.abort(new Error(`interrupted by ${signal}`));
process.once("SIGINT", onSignal);
process.once("SIGTERM", onSignal);
// The command has ended, so nothing reads the results any more.
process.once("disconnect", () => interrupt.abort(new Error("the command ended")));

const aliveTimer = setInterval(() => send({ type: "alive" }), aliveIntervalMs);
// Unref'd: the file, not this report, keeps the process alive.
aliveTimer.unref();

/** The errors of evaluations. A file that awaits a failed evaluation fails with the same error. */
const failures = new Set<unknown>();
/** One promise for each evaluation whose end has not been reported yet. */
const running = new Set<Promise<void>>();
let count = 0;

// Clients of APIs take the global fetch when they are created, which is usually when the file is loaded.
globalThis.fetch = cachedFetch();
setEvaluationRunner({
  options: { ...settings.options, signal: interrupt.signal },
  onStart: (evaluation, call) => {
    const id = count;
    count += 1;
    send({ type: "started", id, call });
    const follower = new Follower(id, evaluation);
    const end = follower.end();
    running.add(end);
    void end.finally(() => running.delete(end));
    return follower.observer;
  },
});

/** Reports what happens in an evaluation. */
class Follower {
  readonly observer: EvaluationObserver;
  readonly #id: number;
  readonly #evaluation: UntypedEvaluation;
  readonly #timers: NodeJS.Timeout[] = [];
  #totalCost: number | undefined;

  constructor(id: number, evaluation: UntypedEvaluation) {
    this.#id = id;
    this.#evaluation = evaluation;
    this.observer = {
      onExperiment: ({ name, url }, readCosts) => {
        send({ type: "experiment", id, name, url });
        this.#repeat(progressIntervalMs, async () => this.#sendProgress());
        this.#repeat(costIntervalMs, async () => {
          ({ totalCost: this.#totalCost } = await readCosts());
        });
      },
      onRowStart: (row) => send({ type: "row", id, row }),
    };
  }

  /** Resolves when the end of the evaluation has been reported. */
  async end(): Promise<void> {
    const id = this.#id;
    try {
      const result = await this.#evaluation;
      const rows = await writeRows(id, result);
      const regressedInputs = await readRegressedInputs(result);
      send({ type: "finished", id, result, rows, regressedInputs });
    } catch (error) {
      failures.add(error);
      this.#sendProgress();
      send({ type: "failed", id, message: describe(error) });
    } finally {
      this.#timers.forEach(clearInterval);
    }
  }

  #sendProgress(): void {
    const progress = this.#evaluation.progress();
    send({ type: "progress", id: this.#id, progress, totalCost: this.#totalCost });
  }

  /** Calls a function regularly, but not before its last call has ended. */
  #repeat(intervalMs: number, call: () => Promise<void>): void {
    let isCalling = false;
    const timer = setInterval(() => {
      if (!isCalling) {
        isCalling = true;
        call().then(
          () => (isCalling = false),
          // The server can't be reached. If that affects the evaluation, the evaluation reports it.
          () => (isCalling = false),
        );
      }
    }, intervalMs);
    // Unref'd: the evaluation, not its display, keeps the process alive.
    timer.unref();
    this.#timers.push(timer);
  }
}

/** Writes the rows for reports. Returns the path, or `undefined` if no report needs them. */
async function writeRows(
  id: number,
  result: EvaluationResult<unknown, unknown, unknown>,
): Promise<string | undefined> {
  if (settings.rowsFolder === undefined) {
    return undefined;
  }
  const path = join(settings.rowsFolder, `${process.pid}-${id}.jsonl`);
  const out = createWriteStream(path, { mode: 0o600 });
  for await (const row of result.readRows()) {
    if (!out.write(`${JSON.stringify(row)}\n`)) {
      await once(out, "drain");
    }
  }
  out.end();
  await finished(out);
  return path;
}

/** Reads the inputs of examples with regressions, because people recognize examples by inputs, not by ids. */
async function readRegressedInputs(
  result: EvaluationResult<unknown, unknown, unknown>,
): Promise<Readonly<Record<string, string>>> {
  const ids = new Set(result.comparison?.regressions.map(({ exampleId }) => exampleId));
  const shown: Record<string, string> = {};
  if (ids.size > 0) {
    for await (const { exampleId, inputs } of result.readRows()) {
      if (ids.delete(exampleId)) {
        shown[exampleId] = describeInputs(inputs);
      }
    }
  }
  return shown;
}

function describe(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return error instanceof Error && error.name === "NetworkError"
    ? `${message}. Start a server with "npx millrace serve", or set --endpoint or MILLRACE_ENDPOINT; run "millrace doctor" for details`
    : message;
}

/** The errors of Node and of tsx if a file that is no ES module awaits outside of a function. */
const awaitInCommonJs =
  /await is only valid in async functions and the top level|Top-level await is currently not supported with the "cjs"/;

function describeLoadError(error: unknown): string {
  const message = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return awaitInCommonJs.test(message)
    ? `the file is a CommonJS module, which can't use await outside of functions. Set "type": "module" in the package.json of its folder, or let its name end with .mts or .mjs. ${message}`
    : message;
}

/** Reports each file that is loaded as a module from now on. */
function reportModules(): void {
  // Newer releases of Node run hooks in the main thread, and deprecate hooks in a separate thread.
  const registerHooks: unknown = Reflect.get(module, "registerHooks");
  if (typeof registerHooks === "function") {
    (registerHooks as RegisterHooks)({
      load: (url, context, nextLoad) => {
        reportModule(url);
        return nextLoad(url, context);
      },
    });
    return;
  }
  const { port1, port2 } = new MessageChannel();
  port1.on("message", reportModule);
  port1.unref();
  module.register(new URL("module-hooks.js", import.meta.url), {
    data: { port: port2 },
    transferList: [port2],
  });
}

/** A function of newer releases of Node. */
type RegisterHooks = (hooks: {
  readonly load: (
    url: string,
    context: unknown,
    nextLoad: (url: string, context: unknown) => unknown,
  ) => unknown;
}) => void;

/** Reports a module, if it is a file that does not belong to an installed package. */
function reportModule(url: string): void {
  if (url.startsWith("file:") && !url.includes("/node_modules/")) {
    send({ type: "modules", paths: [fileURLToPath(url)] });
  }
}

/** How long to wait for the reports of the last modules, in milliseconds: the hooks may run in another thread. */
const lastReportsMs = 100;

/** Reports the files that were loaded with `require`. In a package without `"type": "module"`, tsx loads all files so. */
function reportRequired(): void {
  const { cache } = createRequire(import.meta.url);
  const paths = Object.keys(cache)
    .map((path) => path.replace(/\?.*$/, ""))
    .filter((path) => !path.includes("node_modules"));
  send({ type: "modules", paths });
}

async function runFile(): Promise<void> {
  if (settings.reportsModules) {
    reportModules();
  }
  try {
    await import(pathToFileURL(settings.file).href);
  } catch (error) {
    // If the file failed because it awaits a failed evaluation, that failure has been reported already.
    await nextTurn();
    if (!failures.has(error)) {
      send({ type: "fileFailed", message: describeLoadError(error) });
      process.exitCode = 1;
    }
  }
  if (settings.reportsModules) {
    reportRequired();
  }
  // An evaluation that ends may start another one in its file.
  while (running.size > 0) {
    await Promise.all(running);
    await nextTurn();
  }
  if (settings.reportsModules) {
    reportRequired();
    await delay(lastReportsMs);
  }
  send({ type: "done" });
  // From here on, a signal ends the process: it only waits for timers and sockets that the file did not close.
  process.off("SIGINT", onSignal);
  process.off("SIGTERM", onSignal);
  process.disconnect?.();
}

await runFile();
