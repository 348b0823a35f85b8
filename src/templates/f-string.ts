import { ValidationError } from "../model/errors.ts";
import type { MustacheNode, ParsedText, TemplateMark } from "./mustache.ts";

const bracePattern = /[{}]/g;

/**
 * Parses a template in the syntax of Python's f-strings, as LangChain reads it: `{name}` is a variable, `{{` and `}}`
 * are braces.
 *
 * @throws `ValidationError` if a brace has no counterpart.
 */
export function parseFString(text: string): ParsedText {
  const nodes: MustacheNode[] = [];
  const marks: TemplateMark[] = [];
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
      return { nodes, marks };
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
    const name = readName(text.slice(brace + 1, end), brace);
    const source = text.slice(brace, end + 1);
    nodes.push({ kind: "variable", name, root: name, source });
    marks.push({ from: brace, to: end + 1, kind: "variable", name });
    position = end + 1;
  }
}

function readName(source: string, position: number): string {
  const name = source.trim();
  if (name === "") {
    throw new ValidationError(
      `The template has a variable without a name at character ${position + 1}: write "{{}}" for braces`,
    );
  }
  if (/[!:]/.test(name)) {
    throw new ValidationError(
      `The template uses Python's formatting in the variable "{${source.slice(0, 64)}}", which is not supported. Write "{name}", and pass the formatted text`,
    );
  }
  return name;
}
