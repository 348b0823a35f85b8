/**
 * An independent implementation of the table in docs/values.md, for the values that the round-trip test
 * generates: returns the JSON value as which a value is recorded. `undefined` means omitted from objects.
 */
export function recordedValue(value: unknown, inside: readonly unknown[] = []): unknown {
  switch (typeof value) {
    case "bigint":
      return value.toString();
    case "number":
      return Number.isFinite(value) ? value : String(value);
    case "symbol":
      return `[Symbol(${value.description ?? ""})]`;
    case "function":
      return `[function ${value.name === "" ? "anonymous" : value.name}]`;
    case "object":
      return value === null ? null : recordedObject(value, inside);
    default:
      return value;
  }
}

function recordedObject(value: object, outer: readonly unknown[]): unknown {
  if (outer.includes(value)) {
    return "[circular]";
  }
  const inside = [...outer, value];
  const item = (each: unknown): unknown => recordedValue(each, inside) ?? null;
  if (value instanceof Date) {
    return Number.isNaN(value.valueOf()) ? "[invalid date]" : value.toISOString();
  }
  if (ArrayBuffer.isView(value)) {
    const { buffer, byteOffset, byteLength } = value;
    const data = Buffer.from(buffer, byteOffset, byteLength).toString("base64");
    return { type: value.constructor.name, encoding: "base64", data };
  }
  if ("toJSON" in value && typeof value.toJSON === "function") {
    return recordedValue(Reflect.apply(value.toJSON, value, [""]), inside);
  }
  if (value instanceof Map) {
    return [...value.keys()].every((key) => typeof key === "string")
      ? fields([...(value as Map<string, unknown>)], inside)
      : [...value].map((pair) => recordedValue(pair, inside));
  }
  if (value instanceof Set) {
    return [...value].map(item);
  }
  if (value instanceof Error) {
    const { name, message, stack, cause } = value;
    return fields(Object.entries({ name, message, stack, cause }), inside);
  }
  if (value instanceof RegExp || value instanceof URL) {
    return String(value);
  }
  if (value instanceof Promise) {
    return "[Promise]";
  }
  return Array.isArray(value) ? Array.from(value, item) : fields(Object.entries(value), inside);
}

function fields(
  entries: readonly (readonly [string, unknown])[],
  inside: readonly unknown[],
): unknown {
  const recorded = entries.map(([key, item]) => [key, recordedValue(item, inside)] as const);
  return Object.fromEntries(recorded.filter(([, item]) => item !== undefined));
}
