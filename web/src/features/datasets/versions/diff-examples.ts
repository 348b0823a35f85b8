import { toRecord } from "../../../api/parse.ts";

/** A member of an example that differs between two versions. */
export interface FieldChange {
  /** `inputs.question`; the part alone where it is no object on both sides. */
  readonly path: string;
  readonly kind: "added" | "removed" | "modified";
  /** `undefined` where it is not there. */
  readonly before: unknown;
  readonly after: unknown;
}

interface Sides {
  readonly inputs: unknown;
  readonly outputs: unknown;
  readonly metadata: unknown;
  readonly splits: readonly string[];
}

const parts = ["inputs", "outputs", "metadata", "splits"] as const;

/** What differs of an example, member by member, in the order of parts and of their members. */
export const diffExamples = (
  before: Sides | undefined,
  after: Sides | undefined,
): readonly FieldChange[] =>
  parts.flatMap((part) => diffPart(part, { before: before?.[part], after: after?.[part] }));

function diffPart(
  path: string,
  { before, after }: { readonly before: unknown; readonly after: unknown },
): readonly FieldChange[] {
  if (isSameJson(before, after)) {
    return [];
  }
  if (!isObject(before) || !isObject(after)) {
    return [toChange(path, { before, after })];
  }
  const [was, is] = [toRecord(before), toRecord(after)];
  return [...new Set([...Object.keys(was), ...Object.keys(is)])]
    .filter((name) => !isSameJson(own(was, name), own(is, name)))
    .map((name) => toChange(`${path}.${name}`, { before: own(was, name), after: own(is, name) }));
}

function toChange(
  path: string,
  { before, after }: { readonly before: unknown; readonly after: unknown },
): FieldChange {
  if (before === undefined) {
    return { path, kind: "added", before, after };
  }
  return { path, kind: after === undefined ? "removed" : "modified", before, after };
}

const own = (members: Readonly<Record<string, unknown>>, name: string): unknown =>
  Object.hasOwn(members, name) ? members[name] : undefined;

const isObject = (value: unknown): boolean =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Whether two values are the same JSON, whatever the order of members. */
function isSameJson(one: unknown, other: unknown): boolean {
  if (one === other) {
    return true;
  }
  if (typeof one !== "object" || typeof other !== "object" || one === null || other === null) {
    return false;
  }
  // Raw numbers are objects without members, so compare their texts.
  const names = Object.keys(one);
  if (Array.isArray(one) !== Array.isArray(other) || names.length !== Object.keys(other).length) {
    return false;
  }
  return names.every(
    (name) =>
      Object.hasOwn(other, name) && isSameJson(Reflect.get(one, name), Reflect.get(other, name)),
  );
}
