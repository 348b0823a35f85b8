import { mapJson } from "./json-map.ts";
import type { TextRange } from "./json-map.ts";

/** An error in the text of an editor, and the range of the invalid text. */
export interface TextFault extends TextRange {
  readonly message: string;
}

/** The parts of an example that are edited as JSON objects. */
export const exampleParts = ["inputs", "outputs", "metadata"] as const;

export type ExamplePart = (typeof exampleParts)[number];

/** Checks that a text is a JSON object. An empty text is valid only if `isOptional` is true. */
export function findFaults(json: string, isOptional: boolean): readonly TextFault[] {
  if (json.trim() === "") {
    return isOptional ? [] : [{ from: 0, to: 1, message: "enter a JSON object" }];
  }
  const jsonMap = mapJson(json);
  if (jsonMap.kind === "fault") {
    return [jsonMap.fault];
  }
  const root = jsonMap.ranges.get("") ?? { from: 0, to: json.length };
  return json[root.from] === "{" ? [] : [{ ...root, message: "the value must be a JSON object" }];
}

/**
 * Assigns the schema violations in a server's error message to the parts of the example and to the
 * ranges of the invalid values. The message lists them as `example <id>: inputs/a/0 must be string; …`.
 */
export function locateSchemaFaults(
  message: string,
  texts: Readonly<Record<ExamplePart, string>>,
): Readonly<Record<ExamplePart, readonly TextFault[]>> {
  const faultsByPart: Record<ExamplePart, TextFault[]> = { inputs: [], outputs: [], metadata: [] };
  const faults = message
    .replace(/^.*do not fit the dataset's schema: /s, "")
    .split("; ")
    .map((fault) => fault.replace(/^example [\da-f-]{36}: /i, ""));
  for (const fault of faults) {
    const [, name = "", path = "", reason = ""] =
      /^(inputs|outputs)((?:\/[^ ]*)?) (.*)$/s.exec(fault) ?? [];
    const part = exampleParts.find((candidate) => candidate === name);
    if (part !== undefined) {
      faultsByPart[part].push({
        ...findRange(texts[part], path),
        message: `${name}${path} ${reason}`,
      });
    }
  }
  return faultsByPart;
}

function findRange(json: string, path: string): TextRange {
  const jsonMap = mapJson(json);
  const range = jsonMap.kind === "json" ? jsonMap.ranges.get(path) : undefined;
  // If the whole object is invalid, mark only its opening bracket, because marking all the text would not help.
  return range === undefined || path === "" ? { from: 0, to: 1 } : range;
}
