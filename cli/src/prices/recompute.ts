import { createInterruptSignal } from "../local-server/server-flags.ts";
import type { PriceClient, RecomputeProgress } from "./price-client.ts";

/** The properties of standard error that the progress display uses. */
interface Screen {
  readonly isTTY?: boolean | undefined;
  write(text: string): unknown;
}

/** Interval between two progress lines if the output is not a terminal, in milliseconds. */
const lineIntervalMs = 5_000;

const continueText = "run the same command again to continue where it stopped";

/**
 * Recomputes the costs of all stored runs, in steps between which the server handles other requests. The next call
 * continues an interrupted recomputation.
 */
export async function recompute(
  client: PriceClient,
  { restart, screen }: { readonly restart: boolean; readonly screen: Screen },
): Promise<RecomputeProgress> {
  const signal = createInterruptSignal();
  let shownAt = Number.NEGATIVE_INFINITY;
  let progress = await client.recompute(restart ? "restart" : "resume");
  while (!progress.done) {
    if (screen.isTTY === true || performance.now() - shownAt >= lineIntervalMs) {
      shownAt = performance.now();
      screen.write(formatProgress(progress, screen.isTTY === true));
    }
    if (signal.aborted) {
      throw new Error(`interrupted; ${continueText}`);
    }
    try {
      progress = await client.recompute("continue");
    } catch (cause) {
      const reason = cause instanceof Error ? cause.message : String(cause);
      throw new Error(`${reason}; then ${continueText}`, { cause });
    }
  }
  if (screen.isTTY === true) {
    screen.write("\r\u001b[K");
  }
  return progress;
}

function formatProgress({ position, last, examined, changed }: RecomputeProgress, isTTY: boolean) {
  const percent = last === 0 ? 100 : Math.floor((100 * position) / last);
  const text = `${percent}%, ${formatCount(examined)} model calls examined, ${formatCount(changed)} changed`;
  return isTTY ? `\r${text}\u001b[K` : `${text}\n`;
}

const formatCount = (count: number): string => count.toLocaleString("en");

/**
 * Formats the result of a recomputation. Names of models are shown as JSON, because they can contain any characters.
 */
export function formatResult(progress: RecomputeProgress): string {
  const { examined, changed, unreadable, unknown_models: unknownModels } = progress;
  const models = Object.entries(unknownModels).toSorted(([, a], [, b]) => b - a);
  return [
    `${formatCount(examined)} model calls examined, ${formatCount(changed)} costs changed`,
    ...(unreadable === 0
      ? []
      : [
          `${formatCount(unreadable)} model calls are damaged on disk; their costs were not changed`,
        ]),
    ...(models.length === 0 ? [] : ["no price is known for these models (number of calls):"]),
    ...models.map(([model, count]) => `  ${JSON.stringify(model)}  ${formatCount(count)}`),
  ]
    .map((line) => `${line}\n`)
    .join("");
}
