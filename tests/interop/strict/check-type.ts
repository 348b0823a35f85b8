import { alternativesOf, itemTypeOf, shapeOf } from "./platform-facts.ts";
import type { Member } from "./platform-facts.ts";

export interface TypeProblem {
  readonly rule: "member-type" | "member-missing" | "member-unknown";
  /** The path of the value, and the problem. */
  readonly detail: string;
  /** The nesting depth at which the problem was found. */
  readonly depth: number;
}

export interface TypeCheck {
  /** The path of the value, such as `body.extra`. */
  readonly at: string;
  /** Whether members that the shape lacks are problems. */
  readonly isClosed: boolean;
  /** Members that are allowed although the shape lacks them, as `Shape.member`. */
  readonly alsoRight?: ReadonlySet<string>;
  readonly depth?: number;
}

const uuidPattern = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i;
const timePattern =
  /^\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,6})?)?(?:Z|[+-]\d{2}:?\d{2})?)?$/;

export const isUuid = (text: string): boolean => uuidPattern.test(text);

export const isTime = (text: string): boolean =>
  timePattern.test(text) && !Number.isNaN(Date.parse(text));

export const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const textTypes: Readonly<Record<string, (text: string) => boolean>> = {
  string: () => true,
  uuid: isUuid,
  "date-time": isTime,
};

const otherTypes: Readonly<Record<string, (value: unknown) => boolean>> = {
  any: () => true,
  null: (value) => value === null,
  object: isObject,
  boolean: (value) => typeof value === "boolean",
  integer: Number.isInteger,
  number: (value) => typeof value === "number",
};

/** Reports why a value does not have a type. Of several alternatives, only the problems of the best match are reported. */
export function typeProblems(value: unknown, type: string, check: TypeCheck): TypeProblem[] {
  let best: TypeProblem[] | undefined;
  for (const alternative of alternativesOf(type)) {
    const problems = problemsOfOne(value, alternative, check);
    if (problems.length === 0) {
      return [];
    }
    if (best === undefined || depthOf(problems) > depthOf(best)) {
      best = problems;
    }
  }
  return best ?? [];
}

const depthOf = (problems: readonly TypeProblem[]): number =>
  Math.max(...problems.map(({ depth }) => depth));

function problemsOfOne(value: unknown, type: string, check: TypeCheck): TypeProblem[] {
  const { at, depth = 0 } = check;
  const itemType = itemTypeOf(type);
  if (itemType !== undefined && Array.isArray(value)) {
    return value.flatMap((item, index) =>
      typeProblems(item, itemType, { ...check, at: `${at}[${index}]`, depth: depth + 1 }),
    );
  }
  if (type.startsWith("@") && isObject(value)) {
    return shapeProblems(value, type.slice(1), check);
  }
  const isRight =
    typeof value === "string" && textTypes[type] !== undefined
      ? textTypes[type](value)
      : type === `'${String(value)}'` || otherTypes[type]?.(value) === true;
  return isRight
    ? []
    : [{ rule: "member-type", detail: `${at} is ${shown(value)}, not ${type}`, depth }];
}

function shapeProblems(
  value: Readonly<Record<string, unknown>>,
  shape: string,
  check: TypeCheck,
): TypeProblem[] {
  const { at, depth = 0, isClosed, alsoRight } = check;
  const members: readonly Member[] = shapeOf(shape);
  const problems = members.flatMap(({ name, type, isOptional }): TypeProblem[] => {
    const member = value[name];
    if (member === undefined) {
      return isOptional
        ? []
        : [{ rule: "member-missing", detail: `${at}.${name}`, depth: depth + 1 }];
    }
    return typeProblems(member, type, { ...check, at: `${at}.${name}`, depth: depth + 1 });
  });
  const memberNames = new Set(members.map(({ name }) => name));
  const unknown = Object.keys(value).filter(
    (name) => isClosed && !memberNames.has(name) && alsoRight?.has(`${shape}.${name}`) !== true,
  );
  return [
    ...problems,
    ...unknown.map((name): TypeProblem => {
      return { rule: "member-unknown", detail: `${at}.${name} (${shape})`, depth: depth + 1 };
    }),
  ];
}

const shown = (value: unknown): string => (JSON.stringify(value) ?? "absent").slice(0, 80);
