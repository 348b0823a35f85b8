import { readMembers } from "./json-text.ts";
import type { AttributeObject, AttributeValue, Attributes } from "./span.ts";
import { SpanWarnings, toExcerpt } from "./span-warnings.ts";

/** A value that is assembled from indexed attribute names: `a.0.b` is member `b` of the first item of `a`. */
export interface Tree {
  readonly [name: string]: unknown;
}

/** Maximum number of segments in an indexed name. The segments of a longer name are not separated. */
const maxSegments = 16;

/**
 * The attributes of a span while it is converted to a run. Methods whose names begin with `take` remove the
 * attributes for which a run has a field; the remaining attributes become metadata.
 */
export class AttributeBag {
  readonly #values: Map<string, AttributeValue>;
  readonly #warnings: SpanWarnings;

  /** `warnings` describe what could not be decoded in the span. */
  constructor(attributes: Attributes, warnings: readonly string[] = []) {
    this.#values = new Map(attributes);
    this.#warnings = new SpanWarnings(warnings);
  }

  /** Adds a warning: what was expected of an attribute, and the beginning of its value. */
  warn(name: string, problem: string, value: unknown): void {
    this.#warnings.add(`${name} ${problem}: ${toExcerpt(value)}`);
  }

  /** Returns the warnings so far: what could not be understood in the span. */
  listWarnings(): readonly string[] {
    return this.#warnings.list();
  }

  /** Returns the first of these attributes that exists, without removing it. */
  peek(...names: readonly string[]): AttributeValue | undefined {
    const name = names.find((candidate) => this.#values.has(candidate));
    return name === undefined ? undefined : this.#values.get(name);
  }

  /** Like {@link peek}, but only for texts that are not empty. */
  peekText(...names: readonly string[]): string | undefined {
    const name = names.find((candidate) => isNonEmpty(this.#values.get(candidate)));
    const value = name === undefined ? undefined : this.#values.get(name);
    return typeof value === "string" ? value : undefined;
  }

  /** Removes and returns the first of these attributes that exists. The others are not removed. */
  take(...names: readonly string[]): AttributeValue | undefined {
    const name = names.find((candidate) => this.#values.has(candidate));
    return name === undefined ? undefined : this.#remove(name);
  }

  /** Removes and returns the first text that is not empty. */
  takeText(...names: readonly string[]): string | undefined {
    const name = names.find((candidate) => isNonEmpty(this.#values.get(candidate)));
    const value = name === undefined ? undefined : this.#remove(name);
    return typeof value === "string" ? value : undefined;
  }

  /**
   * Removes and returns an object, which may be given as JSON text; its members are then JSON texts. Any other value
   * stays, with a warning.
   */
  takeObject(name: string): Readonly<Record<string, unknown>> | undefined {
    const value = this.#values.get(name);
    const object: Readonly<Record<string, unknown>> | undefined = isObject(value)
      ? value
      : toObject(typeof value === "string" ? readMembers(value) : undefined);
    if (object !== undefined) {
      this.#values.delete(name);
    } else if (value !== undefined && value !== null && value !== "") {
      this.warn(name, "is not a JSON object", value);
    }
    return object;
  }

  /** Removes all attributes whose names begin with the prefix, and returns them by their names without the prefix. */
  takeAll(prefix: string): ReadonlyMap<string, AttributeValue> {
    const removed = new Map<string, AttributeValue>();
    for (const [name, value] of this.#values) {
      if (name.startsWith(prefix) && name !== prefix) {
        removed.set(name.slice(prefix.length), value);
        this.#values.delete(name);
      }
    }
    return removed;
  }

  /** Returns all attributes whose names begin with the prefix, by their names without the prefix. Removes nothing. */
  peekAll(prefix: string): ReadonlyMap<string, AttributeValue> {
    return new Map(
      [...this.#values]
        .filter(([name]) => name.startsWith(prefix) && name !== prefix)
        .map(([name, value]) => [name.slice(prefix.length), value]),
    );
  }

  /** Removes the attributes `<prefix>.<index>.<...>`, and returns them as a list in the order of the indexes. */
  takeList(prefix: string): readonly Tree[] {
    const root: TreeBranch = new Map();
    for (const [name, value] of this.#values) {
      const steps = name.startsWith(`${prefix}.`) ? name.slice(prefix.length + 1).split(".") : [];
      const isIndexed = steps.length > 1 && steps.length <= maxSegments && isIndex(steps[0] ?? "");
      if (isIndexed && insertAtPath(root, steps, value)) {
        this.#values.delete(name);
      }
    }
    const list = toTree(root);
    return Array.isArray(list) ? (list as readonly Tree[]) : [];
  }

  /** Returns the attributes that were not removed. */
  listRemaining(): Attributes {
    return this.#values;
  }

  #remove(name: string): AttributeValue | undefined {
    const value = this.#values.get(name);
    this.#values.delete(name);
    return value;
  }
}

type TreeBranch = Map<string, TreeBranch | { readonly leaf: AttributeValue }>;

const isNonEmpty = (value: AttributeValue | undefined): boolean =>
  typeof value === "string" && value !== "";

const toObject = (members: ReadonlyMap<string, unknown> | undefined) =>
  members === undefined ? undefined : Object.fromEntries(members);

const isObject = (value: AttributeValue | undefined): value is AttributeObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const isIndex = (step: string): boolean => /^\d{1,9}$/.test(step);

/**
 * Inserts a value at a path. Returns false if the path conflicts with another one: `a.0` and `a.0.b` can't both have
 * a value.
 */
function insertAtPath(root: TreeBranch, steps: readonly string[], value: AttributeValue): boolean {
  let branch = root;
  for (const step of steps.slice(0, -1)) {
    const next = branch.get(step) ?? new Map();
    if (!(next instanceof Map)) {
      return false;
    }
    branch.set(step, next);
    branch = next;
  }
  const lastStep = steps.at(-1) ?? "";
  if (branch.has(lastStep)) {
    return false;
  }
  branch.set(lastStep, { leaf: value });
  return true;
}

function toTree(branch: TreeBranch): unknown {
  const entries = [...branch].map(
    ([step, next]) => [step, next instanceof Map ? toTree(next) : next.leaf] as const,
  );
  if (entries.every(([step]) => isIndex(step))) {
    return entries.toSorted(([a], [b]) => Number(a) - Number(b)).map(([, value]) => value);
  }
  return Object.assign(Object.create(null) as Tree, Object.fromEntries(entries));
}
