// Runs one file with evaluations in a separate process. A file that runs again is therefore loaded again, and a
// function that blocks its thread does not block the command.
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

/** Interval at which the progress is reported, in milliseconds. */
const progressIntervalMs = 200;
/** Interval at which the process reports that its thread is not blocked, in milliseconds. */
const aliveIntervalMs = 500;
/** Interval at which the costs are read from the server, in milliseconds. */
const costIntervalMs = 2_000;

type UntypedEvaluation = Evaluation<unknown, unknown, unknown>;

const settings = JSON.parse(process.argv[2] ?? "{}") as FileSettings;
// The file gets the same arguments as if it were run with plain `node`.
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
// The connection to the command is closed when the command ends. Nothing reads the results then.
process.once("disconnect", () => interrupt.abort(new Error("the command ended")));

const aliveTimer = setInterval(() => send({ type: "alive" }), aliveIntervalMs);
// The timer is unref'd, because only the file's own work may keep the process alive.
aliveTimer.unref();

/** The errors of evaluations. A file that awaits a failed evaluation fails with the same error. */
const failures = new Set<unknown>();
/** A promise for each evaluation whose end has not been reported yet. */
const running = new Set<Promise<void>>();
let count = 0;

// API clients keep the `fetch` that is global when they are created, which is usually while the file is loaded.
globalThis.fetch = cachedFetch();
setEvaluationRunner({
  options: { ...settings.options, signal: interrupt.signal },
  onStart: (evaluation, call) => {
    const id = count;
    count += 1;
    send({ type: "started", id, call });
    const reporter = new EvaluationReporter(id, evaluation);
    const end = reporter.end();
    running.add(end);
    void end.finally(() => running.delete(end));
    return reporter.observer;
  },
});

/** Sends messages about an evaluation to the command. */
class EvaluationReporter {
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
      const rowsPath = await writeRows(id, result);
      const regressedInputs = await readRegressedInputs(result);
      send({ type: "finished", id, result, rowsPath, regressedInputs });
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

  /** Calls a function at an interval, but not before its previous call has ended. */
  #repeat(intervalMs: number, call: () => Promise<void>): void {
    let isCalling = false;
    const timer = setInterval(() => {
      if (!isCalling) {
        isCalling = true;
        call().then(
          () => (isCalling = false),
          // The costs could not be read. If the server's failure affects the evaluation, the evaluation reports it.
          () => (isCalling = false),
        );
      }
    }, intervalMs);
    // The timer is unref'd, because the progress display must not keep the process alive.
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
  // If the proxy can't be reached, the server may well be running, so starting one would not help.
  return error instanceof Error && error.name === "NetworkError" && !message.includes(" the proxy ")
    ? `${message}. Start a server with "npx millrace serve", or set --endpoint or MILLRACE_ENDPOINT; run "millrace doctor" for details`
    : message;
}

/** Matches the errors of Node and of tsx for a CommonJS module that awaits outside of a function. */
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

/** The function `module.registerHooks`, which only newer releases of Node have. */
type RegisterHooks = (hooks: {
  readonly load: (
    url: string,
    context: unknown,
    nextLoad: (url: string, context: unknown) => unknown,
  ) => unknown;
}) => void;

/** Reports a module if it is a file outside of `node_modules`. */
function reportModule(url: string): void {
  if (url.startsWith("file:") && !url.includes("/node_modules/")) {
    send({ type: "modules", paths: [fileURLToPath(url)] });
  }
}

/**
 * How long the process waits for reports of the last modules before it ends, in milliseconds. The hooks may run in
 * another thread, so their reports may arrive late.
 */
const lastReportsMs = 100;

/**
 * Reports the files that were loaded with `require`. In a package without `"type": "module"`, tsx loads all files in
 * this way.
 */
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
    // If the file failed because it awaited a failed evaluation, the failure was already reported.
    await nextTurn();
    if (!failures.has(error)) {
      send({ type: "fileFailed", message: describeLoadError(error) });
      process.exitCode = 1;
    }
  }
  if (settings.reportsModules) {
    reportRequired();
  }
  // After an evaluation has ended, the file may start another one.
  while (running.size > 0) {
    await Promise.all(running);
    await nextTurn();
  }
  if (settings.reportsModules) {
    reportRequired();
    await delay(lastReportsMs);
  }
  send({ type: "done" });
  // From here on, a signal ends the process, because only open timers and sockets of the file keep it alive.
  process.off("SIGINT", onSignal);
  process.off("SIGTERM", onSignal);
  process.disconnect?.();
}

await runFile();
