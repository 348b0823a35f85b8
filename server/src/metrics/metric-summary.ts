import { readBody } from "./metric-body.ts";
import type { CellKey } from "./metric-body.ts";
import { MetricCell } from "./metric-cell.ts";
import { classesByScope, dimensions } from "./metrics.ts";
import type {
  Dimension,
  MetricGroup,
  MetricQuery,
  MetricValues,
  Metrics,
  MicrosRange,
} from "./metrics.ts";

/**
 * Maximum number of values of a dimension that become groups of their own. The runs with all other values form one
 * group.
 */
const maxGroups = 8;

/** The dimension that is used to count all runs: each run has exactly one value in it. */
export const allDimension: Dimension = "status";

/** The counts of one unit of time (a minute, an hour or a day) for one dimension. */
export interface UnitCounts {
  readonly startMicros: number;
  readonly dimensionIndex: number;
  readonly body: Uint8Array;
}

/** The counts of a range and of the period before. */
export interface PeriodUnits {
  readonly current: readonly UnitCounts[];
  /** The units of the period before, which has the same length. */
  readonly previous: readonly UnitCounts[];
  readonly missing: readonly MicrosRange[];
}

/** The members of a query on which its summary depends. */
type SummaryQuery = Pick<
  MetricQuery,
  "fromMicros" | "toMicros" | "widthMicros" | "scope" | "groupBy" | "value"
>;

/** Computes the metrics of a query from the counts of units of time. */
export function summarizeUnits(
  query: SummaryQuery,
  { current, previous, missing }: PeriodUnits,
): Metrics {
  const { groupBy } = query;
  const isInScope = createScopeTest(query);
  const values = groupBy === undefined ? [] : chooseValues(query, groupBy, current);
  const summary = new Summary(query, values);
  summary.addAll(current, isInScope, "current");
  summary.addAll(previous, isInScope, "previous");
  return summary.toMetrics(missing);
}

const createScopeTest = ({ scope }: SummaryQuery): ((key: CellKey) => boolean) => {
  const classes = new Set(classesByScope[scope]);
  return ({ runClass }) => classes.has(runClass);
};

/** Returns the values that become groups. */
const chooseValues = (
  query: SummaryQuery,
  groupBy: Dimension,
  units: readonly UnitCounts[],
): readonly string[] =>
  query.value === undefined ? selectValues(units, groupBy, createScopeTest(query)) : [query.value];

/** Selects the values with the most runs. */
function selectValues(
  units: readonly UnitCounts[],
  groupBy: Dimension,
  isInScope: (key: CellKey) => boolean,
): readonly string[] {
  const runsByValue = new Map<string, number>();
  const groupIndex = dimensions.indexOf(groupBy);
  for (const { body } of units.filter(({ dimensionIndex }) => dimensionIndex === groupIndex)) {
    readBody(body, ({ key, runs }) => {
      if (key.kind === "value" && isInScope(key)) {
        runsByValue.set(key.value, (runsByValue.get(key.value) ?? 0) + runs);
      }
    });
  }
  return [...runsByValue]
    .toSorted(([a, runsA], [b, runsB]) => runsB - runsA || (a < b ? -1 : 1))
    .slice(0, maxGroups)
    .map(([value]) => value);
}

/** The cells of one group: the totals of both periods, and the points. */
class GroupCells {
  readonly total = new MetricCell();
  readonly previous = new MetricCell();
  readonly points = new Map<number, MetricCell>();
  readonly previousPoints = new Map<number, MetricCell>();

  findOrCreate(period: Period, point: number): MetricCell {
    const points = period === "current" ? this.points : this.previousPoints;
    const cell = points.get(point) ?? new MetricCell();
    points.set(point, cell);
    return cell;
  }

  /** Computes the totals, once all points are complete. */
  sum(): void {
    this.points.forEach((cell) => this.total.merge(cell));
    this.previousPoints.forEach((cell) => this.previous.merge(cell));
  }

  get isEmpty(): boolean {
    return this.total.runs === 0 && this.previous.runs === 0;
  }
}

type Period = "current" | "previous";

class Summary {
  readonly #query: SummaryQuery;
  readonly #all = new GroupCells();
  readonly #values: ReadonlyMap<string, GroupCells>;
  readonly #none = new GroupCells();
  readonly #other = new GroupCells();

  constructor(query: SummaryQuery, values: readonly string[]) {
    this.#query = query;
    this.#values = new Map(values.map((value) => [value, new GroupCells()]));
  }

  addAll(units: readonly UnitCounts[], isInScope: (key: CellKey) => boolean, period: Period): void {
    const { fromMicros, toMicros, widthMicros, groupBy } = this.#query;
    const startMicros = period === "current" ? fromMicros : fromMicros - (toMicros - fromMicros);
    const groupIndex = groupBy === undefined ? undefined : dimensions.indexOf(groupBy);
    for (const { dimensionIndex, body, ...unit } of units) {
      const point = Math.floor((unit.startMicros - startMicros) / widthMicros);
      readBody(body, ({ key, addTo }) => {
        if (!isInScope(key)) {
          return;
        }
        if (dimensionIndex === allIndex) {
          addTo(this.#all.findOrCreate(period, point));
        }
        if (dimensionIndex === groupIndex) {
          addTo(this.#select(key).findOrCreate(period, point));
        }
      });
    }
  }

  #select({ kind, value }: CellKey): GroupCells {
    if (kind === "none") {
      return this.#none;
    }
    return this.#values.get(value) ?? this.#other;
  }

  toMetrics(missing: readonly MicrosRange[]): Metrics {
    [this.#all, ...this.#values.values(), this.#none, this.#other].forEach((cells) => cells.sum());
    const groups = [
      ...[...this.#values].map(([value, cells]) => this.#toGroup({ kind: "value", value }, cells)),
      ...(this.#none.isEmpty ? [] : [this.#toGroup({ kind: "none", value: "" }, this.#none)]),
      ...(this.#other.isEmpty ? [] : [this.#toGroup({ kind: "other", value: "" }, this.#other)]),
    ];
    return {
      all: {
        total: this.#all.total.toValues(this.#query.scope),
        previous: this.#all.previous.toValues(this.#query.scope),
        points: this.#toPoints(this.#all.points),
        previousPoints: this.#toPoints(this.#all.previousPoints),
      },
      groups,
      missing,
    };
  }

  #toGroup(key: Pick<MetricGroup, "kind" | "value">, cells: GroupCells): MetricGroup {
    return {
      ...key,
      total: cells.total.toValues(this.#query.scope),
      previous: cells.previous.toValues(this.#query.scope),
      points: this.#toPoints(cells.points),
      previousPoints: this.#listPoints(cells.previousPoints).map((cell) =>
        cell.toCounts(this.#query.scope),
      ),
    };
  }

  #toPoints(points: ReadonlyMap<number, MetricCell>): readonly MetricValues[] {
    return this.#listPoints(points).map((cell) => cell.toValues(this.#query.scope));
  }

  #listPoints(points: ReadonlyMap<number, MetricCell>): readonly MetricCell[] {
    const { fromMicros, toMicros, widthMicros } = this.#query;
    const count = Math.round((toMicros - fromMicros) / widthMicros);
    return Array.from({ length: count }, (_point, index) => points.get(index) ?? emptyCell);
  }
}

const allIndex = dimensions.indexOf(allDimension);

const emptyCell = new MetricCell();
