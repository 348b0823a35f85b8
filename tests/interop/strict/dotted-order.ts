import { isUuid } from "./check-type.ts";

export type DottedRule =
  | "dotted-shape"
  | "dotted-own"
  | "dotted-trace"
  | "dotted-root"
  | "dotted-parent"
  | "dotted-siblings";

export interface DottedProblem {
  readonly rule: DottedRule;
  readonly detail: string;
}

/** The members of a run that its dotted order determines. */
export interface RunPosition {
  readonly id: string;
  readonly dotted_order: string;
  readonly trace_id?: unknown;
  readonly parent_run_id?: unknown;
}

const segmentPattern = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)\d{6}Z(.{36})$/;

/** Checks the rules that apply to a single run. */
export function positionProblems(run: RunPosition): DottedProblem[] {
  const segments = run.dotted_order.split(".");
  const ids = segments.map(idOf);
  if (ids.some((id) => id === undefined)) {
    return [{ rule: "dotted-shape", detail: run.dotted_order.slice(0, 200) }];
  }
  const problems: DottedProblem[] = [];
  const assert = (rule: DottedRule, isRight: boolean): void => {
    if (!isRight) {
      problems.push({ rule, detail: JSON.stringify({ ...run, inputs: undefined }).slice(0, 400) });
    }
  };
  const hasParent = typeof run.parent_run_id === "string";
  assert("dotted-own", ids.at(-1) === run.id);
  assert("dotted-trace", run.trace_id === undefined || ids[0] === run.trace_id);
  assert("dotted-root", segments.length > 1 || !hasParent);
  assert("dotted-parent", !hasParent || ids.length === 1 || ids.at(-2) === run.parent_run_id);
  return problems;
}

function idOf(segment: string): string | undefined {
  const [, year, month, day, hour, minute, second, id = ""] = segmentPattern.exec(segment) ?? [];
  const time = `${year}-${month}-${day}T${hour}:${minute}:${second}.000Z`;
  const date = new Date(time);
  // An invalid day, such as February 30, would be converted to another one.
  return isUuid(id) && !Number.isNaN(date.getTime()) && date.toISOString() === time
    ? id
    : undefined;
}

/** Checks the rules between runs, once all have arrived. `orders` contains each run's dotted order by its id. */
export function treeProblems(orders: ReadonlyMap<string, string>): DottedProblem[] {
  const problems: DottedProblem[] = [];
  const idsByPosition = new Map<string, string>();
  for (const [id, order] of orders) {
    const cut = order.lastIndexOf(".");
    if (cut === -1) {
      continue;
    }
    const above = order.slice(0, cut);
    const parent = orders.get(above.slice(-36));
    if (parent !== undefined && parent !== above) {
      problems.push({ rule: "dotted-parent", detail: `${order} is below ${parent}` });
    }
    // For equal timestamps, the text order is random.
    const position = order.slice(0, -36);
    const other = idsByPosition.get(position);
    if (other !== undefined) {
      problems.push({
        rule: "dotted-siblings",
        detail: `${id} and ${other} both are at ${position}`,
      });
    }
    idsByPosition.set(position, id);
  }
  return problems;
}
