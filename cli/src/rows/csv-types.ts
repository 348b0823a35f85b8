/** The type of the values in a CSV column. */
export type CsvType = "text" | "number" | "boolean" | "json";

/** The names of the types, for checking and listing them. */
export const csvTypes: readonly CsvType[] = ["text", "number", "boolean", "json"];

/** The grammar of numbers in JSON. */
const numberPattern = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

const matchersByType: Readonly<Record<CsvType, (text: string) => boolean>> = {
  text: () => true,
  number: (text) => numberPattern.test(text) && isExact(text),
  boolean: (text) => text === "true" || text === "false",
  json: (text) => /^[[{]/.test(text) && parseJsonOrUndefined(text) !== undefined,
};

/** Infers the type of a column: the type that all of its texts have, or else text. Empty texts are ignored. */
export function inferType(texts: Iterable<string>): CsvType {
  let candidates: readonly CsvType[] = ["number", "boolean", "json"];
  let hasValue = false;
  for (const text of texts) {
    if (text !== "") {
      hasValue = true;
      candidates = candidates.filter((type) => matchersByType[type](text));
      if (candidates.length === 0) {
        break;
      }
    }
  }
  return hasValue ? (candidates[0] ?? "text") : "text";
}

/**
 * Parses the value of a cell. The value of an empty cell is an empty text in a text column, and `undefined` in any
 * other column.
 *
 * @throws Error if the text is not a value of this type, or is a number that JavaScript can't represent.
 */
export function parseCell(type: CsvType, text: string): unknown {
  if (type === "text") {
    return text;
  }
  if (text === "") {
    return undefined;
  }
  const value =
    type === "number" && !numberPattern.test(text) ? undefined : parseJsonOrUndefined(text);
  const isOfType = type === "json" ? value !== undefined : typeof value === type;
  if (!isOfType) {
    throw new Error(
      `${JSON.stringify(text.slice(0, 100))} is not ${type === "json" ? "JSON" : `a ${type}`}`,
    );
  }
  if (type === "number" && !isExact(text)) {
    throw new Error(
      `${text.slice(0, 100)} would be rounded as a number; as a text it keeps its digits`,
    );
  }
  return value;
}

/** Whether JavaScript can represent the number: integers beyond the safe range would be rounded, and 1e400 is infinite. */
const isExact = (text: string): boolean =>
  Number.isFinite(Number(text)) && (!/^-?\d+$/.test(text) || Number.isSafeInteger(Number(text)));

function parseJsonOrUndefined(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    // Not JSON; the caller handles `undefined`.
    return undefined;
  }
}
