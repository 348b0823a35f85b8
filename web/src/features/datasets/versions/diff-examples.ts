import { toRecord } from "../../../api/parse.ts";

/** A field of an example that differs between two versions. */
export interface FieldChange {
  /**
   * The path, such as `inputs.question`. If the inputs are not an object in one of the versions, the path is only
   * `inputs`.
   */
  readonly path: string;
  readonly kind: "added" | "removed" | "modified";
  /** The value in the earlier version; `undefined` if the field is absent there. */
  readonly before: unknown;
  /** The value in the later version; `undefined` if the field is absent there. */
  readonly after: unknown;
}

interface ComparableExample {
  readonly inputs: unknown;
  readonly outputs: unknown;
  readonly metadata: unknown;
  readonly splits: readonly string[];
}

const exampleParts = ["inputs", "outputs", "metadata", "splits"] as const;

/** Lists the fields of an example that differ, in the order of the parts and of the fields within them. */
export const diffExamples = (
  before: ComparableExample | undefined,
  after: ComparableExample | undefined,
): readonly FieldChange[] =>
  exampleParts.flatMap((part) => diffPart(part, { before: before?.[part], after: after?.[part] }));

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
  const [oldMembers, newMembers] = [toRecord(before), toRecord(after)];
  return [...new Set([...Object.keys(oldMembers), ...Object.keys(newMembers)])]
    .filter((name) => !isSameJson(getOwn(oldMembers, name), getOwn(newMembers, name)))
    .map((name) =>
      toChange(`${path}.${name}`, {
        before: getOwn(oldMembers, name),
        after: getOwn(newMembers, name),
      }),
    );
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

const getOwn = (members: Readonly<Record<string, unknown>>, name: string): unknown =>
  Object.hasOwn(members, name) ? members[name] : undefined;

const isObject = (value: unknown): boolean =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Whether two values are equal as JSON. The order of object keys does not matter. */
function isSameJson(left: unknown, right: unknown): boolean {
  if (left === right) {
    return true;
  }
  if (typeof left !== "object" || typeof right !== "object" || left === null || right === null) {
    return false;
  }
  // This comparison also works for numbers from `JSON.rawJSON`, which are objects whose only member is the number's
  // text.
  const names = Object.keys(left);
  if (Array.isArray(left) !== Array.isArray(right) || names.length !== Object.keys(right).length) {
    return false;
  }
  return names.every(
    (name) =>
      Object.hasOwn(right, name) && isSameJson(Reflect.get(left, name), Reflect.get(right, name)),
  );
}
