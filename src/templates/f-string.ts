import { ValidationError } from "../model/errors.ts";
import type { MustacheNode } from "./mustache.ts";

const bracePattern = /[{}]/g;

/**
 * Parses a template in the syntax of Python's f-strings, as LangChain reads it: `{name}` is a variable, `{{` and `}}`
 * are braces.
 *
 * @throws `ValidationError` if a brace has no counterpart.
 */
export function parseFString(text: string): readonly MustacheNode[] {
  const nodes: MustacheNode[] = [];
  let position = 0;
  const addText = (end: number): void => {
    if (end > position) {
      nodes.push({ kind: "text", text: text.slice(position, end) });
    }
  };
  for (;;) {
    bracePattern.lastIndex = position;
    const brace = bracePattern.exec(text)?.index;
    if (brace === undefined) {
      addText(text.length);
      return nodes;
    }
    const isOpening = text[brace] === "{";
    if (text[brace + 1] === text[brace]) {
      addText(brace + 1);
      position = brace + 2;
      continue;
    }
    const end = isOpening ? text.indexOf("}", brace) : -1;
    if (end === -1) {
      throw new ValidationError(
        `The template has a single "${text[brace]}" at character ${brace + 1}: write "${text[brace]}${text[brace]}" for a brace, or close the variable`,
      );
    }
    addText(brace);
    nodes.push(toVariable(text.slice(brace + 1, end), brace));
    position = end + 1;
  }
}

function toVariable(source: string, position: number): MustacheNode {
  const name = source.trim();
  if (name === "") {
    throw new ValidationError(
      `The template has a variable without a name at character ${position + 1}: write "{{}}" for braces`,
    );
  }
  if (/[!:]/.test(name)) {
    throw new ValidationError(
      `The template formats the variable "{${source.slice(0, 64)}}" in Python's way, which is not supported. Write "{name}", and pass the text that it should become`,
    );
  }
  return { kind: "variable", name, root: name };
}
