import { mapJson } from "./json-map.ts";
import type { TextRange } from "./json-map.ts";

/** What is wrong with a text in an editor, and where. */
export interface TextFault extends TextRange {
  readonly message: string;
}

/** The parts of an example that are edited as JSON objects. */
export const exampleParts = ["inputs", "outputs", "metadata"] as const;

export type ExamplePart = (typeof exampleParts)[number];

/** Why a text is not a JSON object. An empty text has no faults. */
export function findFaults(json: string, mayBeEmpty: boolean): readonly TextFault[] {
  if (json.trim() === "") {
    return mayBeEmpty ? [] : [{ from: 0, to: 1, message: "a JSON object is missing" }];
  }
  const map = mapJson(json);
  if (map.kind === "fault") {
    return [map.fault];
  }
  const whole = map.ranges.get("") ?? { from: 0, to: json.length };
  return json[whole.from] === "{" ? [] : [{ ...whole, message: "a JSON object is needed" }];
}

/**
 * The faults that the server found with the dataset's schema, by the part and at the value they are
 * about. Its message names them so: `example <id>: inputs/a/0 must be string; …`.
 */
export function locateSchemaFaults(
  message: string,
  texts: Readonly<Record<ExamplePart, string>>,
): Readonly<Record<ExamplePart, readonly TextFault[]>> {
  const found: Record<ExamplePart, TextFault[]> = { inputs: [], outputs: [], metadata: [] };
  const faults = message
    .replace(/^.*do not fit the dataset's schema: /s, "")
    .split("; ")
    .map((one) => one.replace(/^example [\da-f-]{36}: /i, ""));
  for (const fault of faults) {
    const [, name = "", path = "", reason = ""] =
      /^(inputs|outputs)((?:\/[^ ]*)?) (.*)$/s.exec(fault) ?? [];
    const part = exampleParts.find((one) => one === name);
    if (part !== undefined) {
      found[part].push({ ...rangeOf(texts[part], path), message: `${name}${path} ${reason}` });
    }
  }
  return found;
}

function rangeOf(json: string, path: string): TextRange {
  const map = mapJson(json);
  const range = map.kind === "json" ? map.ranges.get(path) : undefined;
  // For a fault of the whole, mark only the bracket: underlining everything would show nothing.
  return range === undefined || path === "" ? { from: 0, to: 1 } : range;
}
