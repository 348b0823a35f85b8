/** What the texts of a CSV column mean. */
export type CsvType = "text" | "number" | "boolean" | "json";

export const csvTypes: readonly CsvType[] = ["text", "number", "boolean", "json"];

/** JSON's, less what a number of JavaScript can't hold. */
const number = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

const is: Readonly<Record<CsvType, (text: string) => boolean>> = {
  text: () => true,
  number: (text) => number.test(text) && isKept(text),
  boolean: (text) => text === "true" || text === "false",
  json: (text) => /^[[{]/.test(text) && parsed(text) !== undefined,
};

/** What all of these texts are; empty ones say nothing. */
export function inferType(texts: Iterable<string>): CsvType {
  let left: readonly CsvType[] = ["number", "boolean", "json"];
  let isSaid = false;
  for (const text of texts) {
    if (text !== "") {
      isSaid = true;
      left = left.filter((type) => is[type](text));
      if (left.length === 0) {
        break;
      }
    }
  }
  return isSaid ? (left[0] ?? "text") : "text";
}

/** The value of a cell; `undefined` where it is empty. @throws Error it is not a value of this type. */
export function parseCell(type: CsvType, text: string): unknown {
  if (type === "text") {
    return text;
  }
  if (text === "") {
    return undefined;
  }
  const value = type === "number" && !number.test(text) ? undefined : parsed(text);
  const isOne = type === "json" ? value !== undefined : typeof value === type;
  if (!isOne) {
    throw new Error(
      `${JSON.stringify(text.slice(0, 100))} is no ${type === "json" ? "JSON" : type}`,
    );
  }
  return value;
}

/** A whole number beyond what is exact would change. */
const isKept = (text: string): boolean =>
  !/^-?\d+$/.test(text) || Number.isSafeInteger(Number(text));

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    // It is not a value of this type, which is the result.
    return undefined;
  }
}
