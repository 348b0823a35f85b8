import { existsSync } from "node:fs";
import { resolve as toAbsolutePath } from "node:path";
import type { Client } from "millrace";
import { createInterruptSignal, withClient } from "../local-server/server-flags.ts";
import { readSettings } from "../local-server/settings.ts";
import type { Settings } from "../local-server/settings.ts";
import { UsageError } from "../usage-error.ts";
import { ImportProgress } from "./import-progress.ts";
import { formatReport } from "./import-report.ts";
import { createLangfuseSource } from "./langfuse/langfuse-source.ts";
import { createLangsmithSource } from "./langsmith/langsmith-source.ts";
import { ImportCheckpoint } from "./import-checkpoint.ts";
import type { ImportPosition, StoredImport } from "./import-checkpoint.ts";
import { parseImportOptions } from "./import-options.ts";
import type { ImportFlags, ImportOptions } from "./import-options.ts";
import type { ImportSource } from "./model/import-source.ts";
import { Tally } from "./model/tally.ts";
import { SourceClient } from "./source/source-client.ts";
import { ImportTarget } from "./target/import-target.ts";

/**
 * Runs `millrace import`.
 *
 * @returns the number of rows that were left out.
 */
export async function runImport(flags: ImportFlags, env: NodeJS.ProcessEnv): Promise<number> {
  const options = parseImportOptions(flags, env);
  const settings = readTargetSettings(flags, env);
  assertDifferentServers(options, settings);
  removeLangsmithVariables();
  const signal = createInterruptSignal();
  const startedAt = performance.now();
  const progress = new ImportProgress(process.stderr);
  const target = { endpoint: settings.endpoint.value, apiKey: settings.apiKey?.value };
  // The client sends the ends of runs as recorded runs, which sampling must not drop.
  const tally = await withClient(target, { samplingRate: 1 }, async (client) => {
    try {
      return await importAll({ client, options, settings, signal, progress });
    } catch (error) {
      throw describeFailure(error, options, signal);
    } finally {
      progress.stop();
    }
  });
  const seconds = (performance.now() - startedAt) / 1_000;
  process.stdout.write(
    flags.json === true
      ? `${JSON.stringify({ ...tally.toJSON(), seconds })}\n`
      : formatReport(tally, { isDryRun: options.isDryRun, seconds }),
  );
  return tally.leftOut;
}

interface ImportContext {
  readonly client: Client;
  readonly options: ImportOptions;
  readonly settings: Settings;
  readonly signal: AbortSignal;
  readonly progress: ImportProgress;
}

async function importAll(context: ImportContext): Promise<Tally> {
  const { options, settings, progress, signal } = context;
  const { product, url, projectNames, since, until, kinds, checkpointPath } = options;
  const checkpoint =
    checkpointPath === undefined
      ? undefined
      : new ImportCheckpoint(toAbsolutePath(checkpointPath), {
          from: product,
          url: url.href,
          to: settings.endpoint.value,
          projects: projectNames ?? null,
          since: since ?? null,
          until: until ?? null,
          only: [...kinds].toSorted(),
        });
  const stored = await checkpoint?.read();
  const { tally, until: end } = stored ?? {
    until: until ?? new Date().toISOString(),
    tally: new Tally(),
  };
  const source = createSource(context, { until: end, tally });
  const account = await source.connect();
  if (checkpoint !== undefined && stored !== undefined) {
    checkpoint.assertAccount(stored, account);
    process.stderr.write(`continuing the import whose progress is in ${checkpoint.path}\n`);
  }
  await runPhases(source, {
    position: stored?.position,
    signal,
    progress,
    record: (position) => checkpoint?.write({ until: end, account, position, tally }),
  });
  await checkpoint?.remove();
  return tally;
}

/** Imports page by page, from the position at which an earlier import ended. */
async function runPhases(
  source: ImportSource,
  {
    position: storedPosition,
    signal,
    progress,
    record,
  }: {
    readonly position: ImportPosition | undefined;
    readonly signal: AbortSignal;
    readonly progress: ImportProgress;
    /** Records the progress after each page. */
    readonly record: (position: ImportPosition) => Promise<void> | undefined;
  },
): Promise<void> {
  let position = storedPosition;
  for (const phase of findRemaining(source, position)) {
    const items = (await phase.listItems()).toSorted((a, b) => compareKeys(a.key, b.key));
    for (const item of items) {
      const isInterruptedPhase = position?.phase === phase.name;
      if (isInterruptedPhase && compareKeys(item.key, position?.item ?? "") < 0) {
        continue;
      }
      let cursor = isInterruptedPhase && item.key === position?.item ? position.cursor : undefined;
      if (isInterruptedPhase && item.key === position?.item && cursor === undefined) {
        continue;
      }
      progress.begin(item.label);
      do {
        signal.throwIfAborted();
        cursor = await item.importPage(cursor);
        await record({
          phase: phase.name,
          item: item.key,
          ...(cursor === undefined ? {} : { cursor }),
        });
      } while (cursor !== undefined);
    }
    position = undefined;
  }
}

/** Returns the remaining phases, beginning with the one at which an earlier import ended. */
function findRemaining(
  { phases }: ImportSource,
  position: ImportPosition | undefined,
): ImportSource["phases"] {
  const index = phases.findIndex(({ name }) => name === position?.phase);
  return phases.slice(Math.max(0, index));
}

/** Compares by code units, so that the order does not depend on the locale of the machine. */
const compareKeys = (a: string, b: string): number => (a < b ? -1 : Number(a > b));

function createSource(
  { client, options, settings, signal, progress }: ImportContext,
  { until, tally }: Pick<StoredImport, "until" | "tally">,
): ImportSource {
  const { product, url, headers, secrets, keyVariables, kinds, projectNames, since } = options;
  const { httpProxy, httpsProxy, noProxy } = settings;
  const sourceClient = new SourceClient({
    product: product === "langsmith" ? "LangSmith" : "Langfuse",
    url,
    headers,
    secrets,
    keyVariables,
    proxies: {
      ...(httpProxy === undefined ? {} : { httpProxy }),
      ...(httpsProxy === undefined ? {} : { httpsProxy }),
      ...(noProxy === undefined ? {} : { noProxy }),
    },
    signal,
    onWait: (reason) => progress.showWaiting(`waiting for the ${product} server: ${reason}`),
  });
  const target = new ImportTarget({
    client,
    tally,
    isDryRun: options.isDryRun,
    signal,
    onRow: (kind) => progress.count(kind),
    onWait: (reason) => progress.showWaiting(`waiting for the Millrace server: ${reason}`),
  });
  const parts = { client: sourceClient, target, kinds, projectNames, since, until };
  return product === "langsmith" ? createLangsmithSource(parts) : createLangfuseSource(parts);
}

/**
 * Reads the address and the key of the target, only from flags and from Millrace's own variables. LangSmith's variables
 * belong to the source here, whose key must not be sent to another server.
 */
function readTargetSettings(flags: ImportFlags, env: NodeJS.ProcessEnv): Settings {
  const ownVariables = Object.entries(env).filter(([name]) => !isLangsmithName(name));
  return readSettings(flags, Object.fromEntries(ownVariables));
}

/**
 * Removes LangSmith's variables from the process, because the client and its threads would use them for the target.
 * Variables that hide payloads are kept, because hidden payloads must not be copied to any server.
 */
function removeLangsmithVariables(): void {
  const names = Object.keys(process.env).filter(isLangsmithName);
  for (const name of names.filter((candidate) => !candidate.includes("_HIDE_"))) {
    delete process.env[name];
  }
}

const isLangsmithName = (name: string): boolean => /^(?:LANGSMITH|LANGCHAIN)_/.test(name);

function assertDifferentServers({ url }: ImportOptions, { endpoint }: Settings): void {
  if (URL.canParse(endpoint.value) && new URL(endpoint.value).origin === url.origin) {
    throw new UsageError(
      `--from-url and the server to import to are the same, ${url.origin}. Name the Millrace server with --endpoint or MILLRACE_ENDPOINT`,
    );
  }
}

function describeFailure(
  error: unknown,
  { checkpointPath }: ImportOptions,
  signal: AbortSignal,
): unknown {
  if (error instanceof UsageError) {
    return error;
  }
  const cause: unknown = signal.aborted ? signal.reason : error;
  const message = cause instanceof Error ? cause.message : String(cause);
  return checkpointPath === undefined || !existsSync(checkpointPath)
    ? cause
    : new Error(`${message}; run the same command again to continue from there`, { cause });
}
