import { parseJson } from "./body.ts";
import { toExcerpt } from "./warnings.ts";
import type { Warnings } from "./warnings.ts";

/**
 * Parses the items of a JSON array whose end is missing, such as a stream of Gemini's API that was cut off. What
 * follows the last complete item is left out, with a warning. Returns an empty list if the text is not an array.
 */
export function splitJsonArray(text: string, warnings: Warnings): readonly unknown[] {
  const start = /^\s*\[/.exec(text)?.[0].length;
  if (start === undefined) {
    return [];
  }
  const items: unknown[] = [];
  let itemStart = start;
  let depth = 0;
  let isInText = false;
  for (let index = start; index < text.length; index += 1) {
    const unit = text[index];
    if (isInText) {
      if (unit === "\\") {
        index += 1;
      } else if (unit === '"') {
        isInText = false;
      }
    } else if (unit === '"') {
      isInText = true;
    } else if (unit === "{" || unit === "[") {
      itemStart = depth === 0 ? index : itemStart;
      depth += 1;
    } else if (unit === "}" || unit === "]") {
      depth -= 1;
      if (depth < 0) {
        return items;
      }
      if (depth === 0) {
        const parsed = parseJson(text.slice(itemStart, index + 1));
        if (parsed.fault === undefined) {
          items.push(parsed.value);
        } else {
          warnings.add(`A part of the response is not valid JSON: ${parsed.fault}.`);
        }
        itemStart = index + 1;
      }
    }
  }
  warnings.add(`The response ended in the middle of: ${toExcerpt(text.slice(itemStart)) || "["}`);
  return items;
}
