import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import type { CacheMode, CurrentRow } from "millrace/evaluation";
import type { ServerFlags } from "../local-server/server-flags.ts";
import { checkServerFlags, createInterruptSignal } from "../local-server/server-flags.ts";
import { UsageError } from "../usage-error.ts";
import { checkEvaluation, checkThresholds, describeFailure } from "./checks.ts";
import type { Failure, Limits, Threshold } from "./checks.ts";
import { createDisplay } from "./display.ts";
import type { Display, Screen } from "./display.ts";
import { FileViews } from "./evaluation-view.ts";
import type { EvaluationView } from "./evaluation-view.ts";
import { runFileProcess } from "./file-process.ts";
import { findEvalFiles } from "./find-eval-files.ts";
import type { FileMessage, FileSettings } from "./messages.ts";
import { parseReporter, writeReport } from "./reports/report.ts";
import type { Report } from "./reports/report.ts";
import { summarizeEvaluation } from "./summary-lines.ts";
import { ModuleWatch } from "./watch.ts";

export interface EvalFlags extends ServerFlags {
  readonly baseline?: string;
  readonly failUnder: readonly string[];
  readonly maxErrors: string;
  readonly maxRegressions: string;
  readonly repetitions?: string;
  readonly concurrency?: string;
  readonly cache?: string;
  readonly cacheFolder?: string;
  readonly reporter: readonly string[];
  readonly watch?: true;
}

/** The validated flags. */
interface EvalSettings {
  readonly options: FileSettings["options"];
  readonly limits: Limits;
  readonly reports: readonly Report[];
  readonly env: NodeJS.ProcessEnv;
}

/**
 * Runs the evaluations of files. Resolves to whether all of them are within the limits.
 *
 * @throws {@link UsageError} if a flag or a file is not valid.
 */
export async function runEval(
  fileArguments: readonly string[],
  flags: EvalFlags,
  { env, screen }: { readonly env: NodeJS.ProcessEnv; readonly screen: Screen },
): Promise<boolean> {
  const settings = readSettings(flags, env);
  await checkServerFlags(flags);
  const files = await findEvalFiles(fileArguments);
  const interrupt = createInterruptSignal();
  const display = createDisplay(screen, isCi(env));
  const rowsFolder =
    settings.reports.length === 0 ? undefined : await mkdtemp(join(tmpdir(), "millrace-eval-"));
  const modules = flags.watch === true ? new ModuleWatch() : undefined;
  const run = new EvalRun({ settings, display, interrupt, rowsFolder, modules });
  try {
    let isWithinLimits = await run.runFiles(files);
    if (modules !== undefined) {
      for (let changed = files; changed.length > 0;) {
        display.print("waiting for changes; press Ctrl-C to stop");
        changed = await modules.waitForChanges(interrupt);
        isWithinLimits = changed.length === 0 ? isWithinLimits : await run.runFiles(changed);
      }
    }
    return isWithinLimits;
  } finally {
    display.clear();
    modules?.close();
    if (rowsFolder !== undefined) {
      await rm(rowsFolder, { recursive: true, force: true });
    }
  }
}

/** Whether the command runs in a CI system, whose logs can't show a table that is redrawn. */
const isCi = ({ CI: ci }: NodeJS.ProcessEnv): boolean =>
  ci !== undefined && ci !== "" && ci !== "false" && ci !== "0";

function readSettings(flags: EvalFlags, env: NodeJS.ProcessEnv): EvalSettings {
  const { baseline, cache, cacheFolder, endpoint, apiKey } = flags;
  const repetitions = readCount("--repetitions", flags.repetitions, 1, 1_000);
  const concurrency = readCount("--concurrency", flags.concurrency, 1, 10_000);
  return {
    options: {
      ...(baseline === undefined ? {} : { baseline }),
      ...(repetitions === undefined ? {} : { repetitions }),
      ...(concurrency === undefined ? {} : { concurrency }),
      ...(cache === undefined && cacheFolder === undefined
        ? {}
        : { cache: { mode: readCacheMode(cache), folder: cacheFolder } }),
    },
    limits: {
      thresholds: flags.failUnder.map(parseThreshold),
      maxErrors: readCount("--max-errors", flags.maxErrors, 0) ?? 0,
      maxRegressions: readCount("--max-regressions", flags.maxRegressions, 0) ?? 0,
    },
    reports: flags.reporter.map(parseReporter),
    env: {
      ...env,
      ...(endpoint === undefined ? {} : { MILLRACE_ENDPOINT: endpoint }),
      ...(apiKey === undefined ? {} : { MILLRACE_API_KEY: apiKey }),
    },
  };
}

// oxlint-disable-next-line max-params -- name, text and range of one flag
function readCount(
  flag: string,
  text: string | undefined,
  min: number,
  max = Number.MAX_SAFE_INTEGER,
): number | undefined {
  if (text === undefined) {
    return undefined;
  }
  const count = Number(text);
  if (!/^\d+$/.test(text) || count < min || count > max) {
    throw new UsageError(
      `${flag} must be a whole number ${max === Number.MAX_SAFE_INTEGER ? `of at least ${min}` : `from ${min} to ${max}`}, not ${text}`,
    );
  }
  return count;
}

const cacheModes: readonly CacheMode[] = ["auto", "record", "replay"];

function readCacheMode(text = "auto"): CacheMode {
  const mode = cacheModes.find((cacheMode) => cacheMode === text);
  if (mode === undefined) {
    throw new UsageError(`--cache must be ${cacheModes.join(", ")}, not ${text}`);
  }
  return mode;
}

function parseThreshold(text: string): Threshold {
  const position = text.lastIndexOf("=");
  const [key, value] = [text.slice(0, Math.max(0, position)), text.slice(position + 1).trim()];
  const minimum = Number(value);
  if (key === "" || value === "" || !Number.isFinite(minimum)) {
    throw new UsageError(`--fail-under ${text}: pass a score and its minimum, such as right=0.8`);
  }
  return { key, minimum };
}

/** Options of an {@link EvalRun}. */
interface EvalRunInit {
  readonly settings: EvalSettings;
  readonly display: Display;
  readonly interrupt: AbortSignal;
  readonly rowsFolder: string | undefined;
  readonly modules: ModuleWatch | undefined;
}

/** Runs files one after the other, shows their progress, and writes the reports. */
class EvalRun {
  readonly #init: EvalRunInit;

  constructor(init: EvalRunInit) {
    this.#init = init;
  }

  /** Runs files. Resolves to whether all of their evaluations are within the limits. */
  async runFiles(files: readonly string[]): Promise<boolean> {
    const { settings, display, interrupt } = this.#init;
    const views: EvaluationView[] = [];
    const failures: Failure[] = [];
    for (const file of files) {
      if (!interrupt.aborted) {
        const result = await this.#runFile(file);
        views.push(...result.views);
        failures.push(...result.failures);
      }
    }
    if (interrupt.aborted) {
      failures.push({
        check: "interrupt",
        message: "interrupted; to continue, run the same command again",
      });
    } else {
      failures.push(...checkThresholds(views, settings.limits));
    }
    for (const failure of failures) {
      display.print(`failed: ${describeFailure(failure)}`);
    }
    for (const report of settings.reports) {
      await writeReport(report, { views, failures });
      display.print(`report: ${report.path}`);
    }
    return failures.length === 0;
  }

  async #runFile(
    file: string,
  ): Promise<{ readonly views: readonly EvaluationView[]; readonly failures: readonly Failure[] }> {
    const { settings, display, interrupt, rowsFolder, modules } = this.#init;
    const shownFile = relative(process.cwd(), file) || file;
    const views = new FileViews(file);
    modules?.add(file, []);
    const onMessage = (message: FileMessage): void => {
      if (message.type === "modules") {
        modules?.add(file, message.paths);
        return;
      }
      const view = views.apply(message);
      if (message.type === "experiment") {
        // Print the address first, so that the user can watch the rows in the UI.
        display.print(`${message.name}: ${message.url ?? "the server reported no address"}`);
      }
      if (message.type !== "row") {
        display.update(
          views.list.filter(({ result, failure }) => result === undefined && failure === undefined),
        );
      }
      // The failure of an evaluation is printed at the end, with the other failures.
      if (view !== undefined && message.type === "finished") {
        summarizeEvaluation(view).forEach(display.print);
      }
    };
    const { failure, blockedRow } = await runFileProcess(
      {
        file,
        options: settings.options,
        ...(rowsFolder === undefined ? {} : { rowsFolder }),
        reportsModules: modules !== undefined,
      },
      {
        onMessage,
        onLine: display.print,
        onBlocked: (row) =>
          display.print(
            `${shownFile} does not respond: its target or an evaluator blocks the thread, or waits for the debugger. ${describeLastRow(row)}`,
          ),
      },
      { env: settings.env, interrupt },
    );
    display.update([]);
    if (blockedRow !== undefined) {
      display.print(
        `${shownFile} was killed, because its target or an evaluator blocks the thread. ${describeLastRow(blockedRow)}`,
      );
    }
    return { views: views.list, failures: this.#check(shownFile, views.list, failure) };
  }

  #check(
    file: string,
    views: readonly EvaluationView[],
    failure: string | undefined,
  ): readonly Failure[] {
    const { limits } = this.#init.settings;
    if (failure !== undefined) {
      return [
        { check: file, message: `${file}: ${failure}` },
        ...views.flatMap((view) => checkEvaluation(view, limits)),
      ];
    }
    if (views.length === 0 && !this.#init.interrupt.aborted) {
      return [
        {
          check: file,
          message: `${file} starts no evaluation; call evaluate of millrace/evaluation when the file is loaded`,
        },
      ];
    }
    return this.#init.interrupt.aborted
      ? []
      : views.flatMap((view) => checkEvaluation(view, limits));
  }
}

const describeLastRow = ({ experimentId, exampleId, repetition }: CurrentRow): string =>
  `The row that was started last is example ${exampleId}, repetition ${repetition}, of experiment ${experimentId}.`;
