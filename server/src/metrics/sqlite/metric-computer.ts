import { minuteMicros, hourMicros, dayMicros } from "../../model/durations.ts";
import { setImmediate } from "node:timers/promises";
import type { Connection } from "../../storage/sqlite/connection.ts";
import { parseRows } from "../../storage/sqlite/rows.ts";
import type { MetricCounts } from "../metric-body.ts";
import { markLevels } from "../metrics.ts";
import type { ComputedMetrics, Mark, MarkLevel, MetricBodies } from "../metrics.ts";
import { encodeMinutes, mergeMinutes, toBodies } from "../unit-bodies.ts";
import { MetricScanner } from "./metric-scanner.ts";
import { countByMinute } from "../outdated-units.ts";
import { createCounts } from "../scanned-run.ts";

/**
 * Maximum number of marks that one step reads. A mark says that the stored metrics of a unit of time are out of date.
 */
const marksPerStep = 500;

/** Milliseconds after which a step takes no further mark. */
const stepMs = 50;

/**
 * Runs per second, and new runs since the previous step, above which nothing is computed, because the writer needs the
 * time.
 */
const busyRunsPerSecond = 2_000;
const minBusyRuns = 1_000;

/** Milliseconds after which metrics are computed even while many runs arrive. */
const maxBusyMs = 60_000;

const minutesPerHour = hourMicros / minuteMicros;
const hoursPerDay = dayMicros / hourMicros;

/** The version of a mark, and when this version was first seen. */
interface SeenMark {
  readonly version: number;
  readonly sinceMs: number;
}

/** Computes the metrics that are out of date, over a read-only connection. */
export class MetricComputer {
  readonly #scanner: MetricScanner;
  readonly #statements;
  #seen = new Map<string, SeenMark>();
  /** The last row id of the table of runs at the previous step, and the time of that step. */
  #lastStep: { readonly row: number; readonly atMs: number } | undefined;
  /** Since when runs have been arriving too fast. */
  #busySinceMs: number | undefined;

  constructor(db: Connection) {
    this.#scanner = new MetricScanner(db);
    this.#statements = {
      // Minutes come first, the latest ones first, because people look at those most.
      listMarks: db
        .prepare(
          `SELECT project_id, level, unit, version FROM metric_marks ORDER BY level = ${markLevels.unreadHour}, level, unit DESC
           LIMIT ${marksPerStep}`,
        )
        .raw(),
      findLastRow: db.prepare("SELECT max(rowid) FROM runs").raw(),
      listUnits: db
        .prepare(
          "SELECT body FROM metrics WHERE project_id = ? AND level = ? AND dimension = ? AND unit >= ? AND unit < ?",
        )
        .raw(),
      findMark: db
        .prepare(
          "SELECT 1 FROM metric_marks WHERE project_id = ? AND level = ? AND unit >= ? AND unit < ? LIMIT 1",
        )
        .raw(),
    };
  }

  /**
   * Computes the metrics of some marks. A unit that is still being written to is left for later: runs are patched soon
   * after they were posted, and each change would make its metrics out of date again.
   *
   * @param settleMs - a minute is counted only if it was not marked during the last `settleMs` milliseconds; hours and
   * days wait until nothing in them is marked
   * @param shouldStop - is called between short steps; if it returns true, the remaining marks stay
   */
  async compute(settleMs: number, shouldStop: () => boolean): Promise<readonly ComputedMetrics[]> {
    const nowMs = performance.now();
    if (this.#isBusy(nowMs)) {
      return [];
    }
    const marks = parseRows(this.#statements.listMarks.all()).map(
      ([projectId, level, unit, version]): Mark => ({
        projectId: String(projectId),
        level: Number(level) as MarkLevel,
        unit: Number(unit),
        version: Number(version),
      }),
    );
    const settled = this.#selectSettled(marks, nowMs, settleMs);
    const computed: ComputedMetrics[] = [];
    for (const mark of settled) {
      // Sequential: the connection runs one query at a time.
      const metrics = await this.#computeMark(mark, shouldStop);
      if (metrics !== undefined) {
        computed.push(metrics);
      }
      // At least one mark is computed: the caller takes an empty result to mean that no work is left.
      if (shouldStop() || (computed.length > 0 && performance.now() - nowMs > stepMs)) {
        break;
      }
    }
    return computed;
  }

  /** Whether runs have arrived so fast since the previous step that computing metrics would slow down the writer. */
  #isBusy(nowMs: number): boolean {
    const [[lastRow] = []] = parseRows(this.#statements.findLastRow.all());
    const row = Number(lastRow ?? 0);
    const lastStep = this.#lastStep ?? { row, atMs: nowMs };
    this.#lastStep = { row, atMs: nowMs };
    const newRuns = row - lastStep.row;
    const isFast =
      newRuns >= minBusyRuns && (newRuns / (nowMs - lastStep.atMs)) * 1_000 > busyRunsPerSecond;
    this.#busySinceMs = isFast ? (this.#busySinceMs ?? nowMs) : undefined;
    return isFast && nowMs - (this.#busySinceMs ?? nowMs) < maxBusyMs;
  }

  /** Returns all marks except those of minutes that changed a short time ago. Remembers when each mark last changed. */
  #selectSettled(marks: readonly Mark[], nowMs: number, settleMs: number): readonly Mark[] {
    const seen = new Map<string, SeenMark>();
    const settled = marks.filter((mark) => {
      const key = `${mark.level} ${mark.unit} ${mark.projectId}`;
      const seenBefore = this.#seen.get(key);
      const sinceMs = seenBefore?.version === mark.version ? seenBefore.sinceMs : nowMs;
      seen.set(key, { version: mark.version, sinceMs });
      return mark.level !== markLevels.minute || nowMs - sinceMs >= settleMs;
    });
    this.#seen = seen;
    return settled;
  }

  async #computeMark(mark: Mark, shouldStop: () => boolean): Promise<ComputedMetrics | undefined> {
    const { projectId, level, unit } = mark;
    if (level === markLevels.hour || level === markLevels.day) {
      return this.#hasInnerMarks(mark)
        ? undefined
        : { mark, minutes: [], merged: this.#merge(mark) };
    }
    const micros = level === markLevels.minute ? minuteMicros : hourMicros;
    const countsByStart = new Map<number, MetricCounts[]>();
    const range = { fromMicros: unit * micros, toMicros: (unit + 1) * micros };
    for (const runs of this.#scanner.scan({ projectId, ...range })) {
      // The thread handles its messages here, because a unit can have millions of runs.
      await setImmediate();
      if (shouldStop()) {
        return undefined;
      }
      countByMinute(countsByStart, runs);
    }
    const minutes = encodeMinutes(countsByStart);
    return {
      mark,
      minutes,
      merged: level === markLevels.unreadHour ? mergeMinutes(unit, minutes) : undefined,
    };
  }

  /** Whether smaller units in a unit are marked. The unit would then have to be merged again. */
  #hasInnerMarks({ projectId, level, unit }: Mark): boolean {
    const startMicros = unit * (level === markLevels.day ? dayMicros : hourMicros);
    const endMicros = startMicros + (level === markLevels.day ? dayMicros : hourMicros);
    const isMarked = (innerLevel: MarkLevel, micros: number): boolean =>
      this.#statements.findMark.all([
        projectId,
        innerLevel,
        startMicros / micros,
        endMicros / micros,
      ]).length > 0;
    return (
      isMarked(markLevels.minute, minuteMicros) ||
      isMarked(markLevels.unreadHour, hourMicros) ||
      (level === markLevels.day && isMarked(markLevels.hour, hourMicros))
    );
  }

  /** Merges the minutes of an hour, or the hours of a day. */
  #merge({ projectId, level, unit }: Mark): MetricBodies | undefined {
    const isDay = level === markLevels.day;
    const innerLevel = isDay ? markLevels.hour : markLevels.minute;
    const innerCount = isDay ? hoursPerDay : minutesPerHour;
    const counts = createCounts();
    for (const [dimension, dimensionCounts] of counts.entries()) {
      const range = [unit * innerCount, (unit + 1) * innerCount];
      for (const [body] of parseRows(
        this.#statements.listUnits.all([projectId, innerLevel, dimension, ...range]),
      )) {
        if (body instanceof Uint8Array) {
          dimensionCounts.merge(body);
        }
      }
    }
    return toBodies(unit, counts);
  }
}
