import { types } from "node:util";

/** A value that JSON can represent, and descriptions of the values that had to be replaced. */
export interface JsonConversion {
  readonly json: unknown;
  /** One sentence for each replaced value, at most {@link maxProblems}. */
  readonly problems: readonly string[];
}

const maxProblems = 5;
const maxDepth = 500;

/**
 * Converts a value to one that JSON can represent. A value that already is JSON, which is the usual case, is
 * returned unchanged. Otherwise returns a copy in which the values that JSON can't represent are replaced by the same
 * markers as in recorded runs. Never throws.
 */
export function toJsonValue(value: unknown, label: string): JsonConversion {
  try {
    if (isJson(value, 0)) {
      return { json: value, problems: [] };
    }
  } catch {
    // A getter or a proxy threw. The conversion below determines where.
  }
  const conversion = new Conversion();
  const json = conversion.convert(value, label);
  return { json, problems: conversion.problems };
}

/**
 * Whether JSON can represent the value unchanged. Members that are `undefined` are allowed, because JSON omits them.
 */
function isJson(value: unknown, depth: number): boolean {
  switch (typeof value) {
    case "string":
    case "boolean":
    case "undefined":
      return true;
    case "number":
      return Number.isFinite(value);
    case "object":
      break;
    case "bigint":
    case "function":
    case "symbol":
      return false;
  }
  if (value === null) {
    return true;
  }
  if (depth > maxDepth) {
    return false;
  }
  if (Array.isArray(value)) {
    return value.every((item) => item !== undefined && isJson(item, depth + 1));
  }
  const prototype: unknown = Object.getPrototypeOf(value);
  return (
    (prototype === Object.prototype || prototype === null) &&
    !("toJSON" in value) &&
    Object.values(value).every((member) => isJson(member, depth + 1))
  );
}

class Conversion {
  readonly problems: string[] = [];
  readonly #ancestors: object[] = [];

  convert(value: unknown, path: string): unknown {
    try {
      return this.#convert(value, path);
    } catch (error) {
      return this.#replaceUnreadable(path, error);
    }
  }

  #convert(value: unknown, path: string): unknown {
    switch (typeof value) {
      case "bigint":
        return this.#replace(path, "is a BigInt, which JSON can't hold", String(value));
      case "function":
        return this.#replace(path, "is a function", `[function ${value.name}]`);
      case "symbol":
        return this.#replace(path, "is a symbol", `[${String(value)}]`);
      case "number":
        return Number.isFinite(value)
          ? value
          : this.#replace(path, `is ${value}, which JSON can't hold`, String(value));
      case "string":
      case "boolean":
      case "undefined":
        return value;
      case "object":
        return value === null ? null : this.#convertObject(value, path);
    }
  }

  #convertObject(value: object, path: string): unknown {
    if (this.#ancestors.includes(value)) {
      return this.#replace(path, "contains itself", "[circular]");
    }
    if (this.#ancestors.length >= maxDepth) {
      return this.#replace(path, `is more than ${maxDepth} levels deep`, "[too deep]");
    }
    this.#ancestors.push(value);
    try {
      return this.#convertMembers(value, path);
    } finally {
      this.#ancestors.pop();
    }
  }

  #convertMembers(value: object, path: string): unknown {
    if (Array.isArray(value)) {
      return value.map((item: unknown, index) => this.convert(item ?? null, `${path}[${index}]`));
    }
    if ("toJSON" in value && typeof value.toJSON === "function") {
      return this.convert((value.toJSON as () => unknown)(), path);
    }
    if (value instanceof Map) {
      const entries = [...(value as Map<unknown, unknown>)];
      return entries.every(([key]) => typeof key === "string")
        ? this.convert(Object.fromEntries(entries), path)
        : this.convert(entries, path);
    }
    if (value instanceof Set) {
      return this.convert([...(value as Set<unknown>)], path);
    }
    if (value instanceof Error) {
      return { name: value.name, message: value.message };
    }
    const kind = findKind(value);
    if (kind !== undefined) {
      return this.#replace(path, `is a ${kind}, whose content is not read`, `[${kind}]`);
    }
    return Object.fromEntries(
      Object.keys(value).map((key) => [key, this.#convertMember(value, key, `${path}.${key}`)]),
    );
  }

  /** Reads and converts a member. If its getter throws, only this member is replaced. */
  #convertMember(value: object, key: string, path: string): unknown {
    let member: unknown;
    try {
      member = Reflect.get(value, key);
    } catch (error) {
      return this.#replaceUnreadable(path, error);
    }
    return this.convert(member, path);
  }

  #replaceUnreadable(path: string, error: unknown): string {
    const reason = error instanceof Error ? error.message : "unknown reason";
    return this.#replace(path, `can't be read (${reason})`, "[unserializable]");
  }

  #replace(path: string, problem: string, marker: string): string {
    if (this.problems.length < maxProblems) {
      this.problems.push(`${path} ${problem}; it is stored as ${JSON.stringify(marker)}`);
    }
    return marker;
  }
}

/**
 * Returns the kind of an object whose content is not read, such as a buffer, a promise or a stream; `undefined` for all
 * other objects.
 */
function findKind(value: object): string | undefined {
  if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) {
    return value.constructor.name;
  }
  if (types.isPromise(value)) {
    return "Promise";
  }
  return Symbol.asyncIterator in value || Symbol.iterator in value
    ? (value.constructor.name || "stream").replace("Object", "generator")
    : undefined;
}
