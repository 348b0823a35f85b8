import { readFileSync } from "node:fs";

/** The platform's description of one call. `scripts/platform-api.mjs` explains the terms. */
export interface PlatformOperation {
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Content type of the request body. @defaultValue JSON */
  readonly contentType?: string;
  readonly answer?: string;
  /** Status of the response. @defaultValue 200 */
  readonly status?: number;
}

interface PlatformFacts {
  readonly operations: Readonly<Record<string, PlatformOperation>>;
  readonly shapes: Readonly<Record<string, Readonly<Record<string, string>>>>;
}

const facts = JSON.parse(
  readFileSync(new URL("../../fixtures/platform-api.json", import.meta.url), "utf8"),
) as PlatformFacts;

export interface Member {
  readonly name: string;
  readonly type: string;
  readonly isOptional: boolean;
}

export const membersOf = (names: Readonly<Record<string, string>>): readonly Member[] =>
  Object.entries(names).map(([name, type]) => ({
    name: name.replace(/\?$/, ""),
    type,
    isOptional: name.endsWith("?"),
  }));

const shapes: ReadonlyMap<string, readonly Member[]> = new Map(
  Object.entries(facts.shapes).map(([name, members]) => [name, membersOf(members)]),
);

/** @throws Error the shape does not exist. */
export function shapeOf(name: string): readonly Member[] {
  const members = shapes.get(name);
  if (members === undefined) {
    throw new Error(`The facts have no shape ${name}`);
  }
  return members;
}

/** A path without the names of its parameters, which differ between our table and the platform. */
const withoutParameterNames = (path: string): string => path.replaceAll(/:\w+/g, ":");

const operations: ReadonlyMap<string, PlatformOperation> = new Map(
  Object.entries(facts.operations).map(([name, operation]) => [
    withoutParameterNames(name),
    operation,
  ]),
);

/** The platform's description of a row of the endpoint table; `undefined` if there is none. */
export const platformOperationOf = (row: {
  readonly method: string;
  readonly path: string;
}): PlatformOperation | undefined =>
  operations.get(withoutParameterNames(`${row.method} ${row.path}`));

/** The alternatives of a type: `"array<'a'|'b'>|null"` has two. */
export function alternativesOf(type: string): readonly string[] {
  const parts: string[] = [];
  let depth = 0;
  let from = 0;
  for (let at = 0; at <= type.length; at += 1) {
    const sign = type[at];
    depth += Number(sign === "<") - Number(sign === ">");
    if (sign === undefined || (sign === "|" && depth === 0)) {
      parts.push(type.slice(from, at));
      from = at + 1;
    }
  }
  return parts;
}

/** The item type of `array<...>`; `undefined` for other types. */
export const itemTypeOf = (type: string): string | undefined => /^array<(.*)>$/.exec(type)?.[1];
