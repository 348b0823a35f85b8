import type { CDPSession, Page } from "playwright-core";

/** A task of the page's main thread, in milliseconds. */
export interface PageTask {
  /** How long it took. On a busy machine, other processes run during most of it. */
  readonly wallMs: number;
  /** For how long the main thread ran. */
  readonly cpuMs: number;
}

/** An event of Chromium's trace. Times are in microseconds. */
interface TraceEvent {
  readonly name: string;
  readonly pid: number;
  readonly tid: number;
  readonly ts: number;
  readonly dur?: number;
  readonly tdur?: number;
  readonly args?: { readonly name?: string };
}

const taskNames: ReadonlySet<string> = new Set(["RunTask", "ThreadControllerImpl::RunTask"]);
/** Shorter tasks are left out. */
const minTaskMs = 16;

/** Runs an action, and returns the tasks of the page's main thread meanwhile, those with most CPU time first. */
export async function traceTasks(
  page: Page,
  action: () => Promise<void>,
): Promise<readonly PageTask[]> {
  const session = await page.context().newCDPSession(page);
  const events: TraceEvent[] = [];
  session.on("Tracing.dataCollected", ({ value }) => {
    events.push(...(value as unknown as readonly TraceEvent[]));
  });
  await session.send("Tracing.start", {
    transferMode: "ReportEvents",
    traceConfig: { includedCategories: ["toplevel", "__metadata"] },
  });
  try {
    await action();
  } finally {
    await endTracing(session);
  }
  return toTasks(events);
}

async function endTracing(session: CDPSession): Promise<void> {
  const complete = new Promise((resolve) => {
    session.once("Tracing.tracingComplete", resolve);
  });
  await session.send("Tracing.end");
  await complete;
  await session.detach();
}

function toTasks(events: readonly TraceEvent[]): readonly PageTask[] {
  const toThread = ({ pid, tid }: TraceEvent): string => `${pid}:${tid}`;
  const mainThreads = new Set(
    events
      .filter(({ name, args }) => name === "thread_name" && args?.name === "CrRendererMain")
      .map(toThread),
  );
  return events
    .filter((event) => taskNames.has(event.name) && mainThreads.has(toThread(event)))
    .map(({ dur = 0, tdur = 0 }) => ({ wallMs: dur / 1_000, cpuMs: tdur / 1_000 }))
    .filter(({ wallMs }) => wallMs >= minTaskMs)
    .toSorted((left, right) => right.cpuMs - left.cpuMs);
}
