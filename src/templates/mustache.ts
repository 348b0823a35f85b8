import { ValidationError } from "../model/errors.ts";

/** A part of a parsed template. The syntax of f-strings has texts and variables only. */
export type MustacheNode =
  | { readonly kind: "text"; readonly text: string }
  | {
      readonly kind: "variable";
      readonly name: string;
      /** The first segment of the name, for which the caller passes a value: `a` in `a.b`. */
      readonly root: string;
      /** The variable as it appears in the template, with its braces. */
      readonly source: string;
    }
  | {
      readonly kind: "section";
      readonly name: string;
      readonly root: string;
      /** Whether the section appears only if its value is empty. */
      readonly isInverted: boolean;
      readonly nodes: readonly MustacheNode[];
    };

/** A variable or tag in a template's text. It begins at the index `from` and ends before the index `to`. */
export interface TemplateMark {
  readonly from: number;
  readonly to: number;
  readonly kind: "variable" | "section" | "inverted" | "end" | "comment" | "delimiters";
  readonly name: string;
}

/** A parsed template: its nodes, and the positions of its variables and tags. */
export interface ParsedText {
  readonly nodes: readonly MustacheNode[];
  readonly marks: readonly TemplateMark[];
}

/** Maximum number of sections that are nested in each other. */
const maxDepth = 100;

interface OpenSection {
  readonly name: string;
  readonly isInverted: boolean;
  readonly nodes: MustacheNode[];
}

/**
 * Parses a Mustache template as mustache.js does, with two differences: values are never escaped, because prompts are
 * not HTML, and partials are not supported.
 *
 * @throws `ValidationError` if a tag or a section is not closed, a delimiter is invalid, or there is a partial.
 */
export function parseMustache(template: string): ParsedText {
  return new MustacheParser(template).parse();
}

class MustacheParser {
  readonly #template: string;
  #position = 0;
  #delimiters: readonly [open: string, close: string] = ["{{", "}}"];
  /** The template itself and the open sections; the innermost is the last. */
  readonly #sections: OpenSection[] = [{ name: "", isInverted: false, nodes: [] }];
  /** The whitespace nodes of the current line: for each, the list that contains it, and its index there. */
  #lineSpaces: { readonly nodes: MustacheNode[]; readonly index: number }[] = [];
  readonly #marks: TemplateMark[] = [];
  #lineHasTag = false;
  #lineHasContent = false;

  constructor(template: string) {
    this.#template = template;
  }

  parse(): ParsedText {
    for (;;) {
      const [open] = this.#delimiters;
      const start = this.#template.indexOf(open, this.#position);
      this.#addText(this.#template.slice(this.#position, start === -1 ? undefined : start));
      if (start === -1) {
        break;
      }
      this.#position = start + open.length;
      this.#parseTag(start);
    }
    this.#endLine();
    const unclosed = this.#sections[1];
    if (unclosed !== undefined) {
      throw new ValidationError(
        `The template's section ${quote(unclosed.name)} is not closed: add {{/${unclosed.name}}}`,
      );
    }
    return { nodes: this.#sections[0]?.nodes ?? [], marks: this.#marks };
  }

  #addText(text: string): void {
    for (const piece of text.match(/[^\n]*\n|[^\n]+/g) ?? []) {
      const { nodes } = this.#innermost;
      if (piece.trim() === "") {
        this.#lineSpaces.push({ nodes, index: nodes.length });
      } else {
        this.#lineHasContent = true;
      }
      nodes.push({ kind: "text", text: piece });
      if (piece.endsWith("\n")) {
        this.#endLine();
      }
    }
  }

  /** Removes the whitespace of a line that contains nothing else but tags of sections, comments or delimiters. */
  #endLine(): void {
    if (this.#lineHasTag && !this.#lineHasContent) {
      for (const { nodes, index } of this.#lineSpaces) {
        nodes[index] = { kind: "text", text: "" };
      }
    }
    this.#lineSpaces = [];
    this.#lineHasTag = false;
    this.#lineHasContent = false;
  }

  #parseTag(start: number): void {
    this.#lineHasTag = true;
    this.#skipSpaces();
    const sign = /[#^/>{&=!]/.exec(this.#template[this.#position] ?? "")?.[0] ?? "";
    this.#position += sign.length;
    const [, close] = this.#delimiters;
    const end = { "=": `=${close}`, "{": `}${close}` }[sign] ?? close;
    const endPosition = this.#template.indexOf(end, this.#position);
    if (endPosition === -1) {
      throw new ValidationError(
        `The template's tag at character ${start + 1} is not closed: add ${quote(end)}`,
      );
    }
    const name = this.#template.slice(this.#position, endPosition).trim();
    this.#position = endPosition + end.length;
    const kind = markKinds[sign] ?? "variable";
    this.#marks.push({ from: start, to: this.#position, kind, name });
    switch (sign) {
      case "!":
        return;
      case "=":
        return this.#setDelimiters(name);
      case "#":
      case "^":
        return this.#openSection(name, sign === "^");
      case "/":
        return this.#closeSection(name);
      case ">":
        throw new ValidationError(
          `The template includes the partial ${quote(name)}, which is not supported. Write its text into the template`,
        );
      default:
        this.#lineHasContent = true;
        this.#innermost.nodes.push({
          kind: "variable",
          name,
          root: toRoot(name),
          source: this.#template.slice(start, this.#position),
        });
    }
  }

  #openSection(name: string, isInverted: boolean): void {
    if (this.#sections.length > maxDepth) {
      throw new ValidationError(
        `The template has more than ${maxDepth} sections inside each other. Use fewer`,
      );
    }
    this.#sections.push({ name, isInverted, nodes: [] });
  }

  #closeSection(name: string): void {
    const section = this.#sections.length > 1 ? this.#sections.pop() : undefined;
    if (section?.name !== name) {
      const expected =
        section === undefined ? "no section is open" : `expected ${quote(section.name)}`;
      throw new ValidationError(`The template closes the section ${quote(name)}, but ${expected}`);
    }
    this.#innermost.nodes.push({ kind: "section", root: toRoot(name), ...section });
  }

  #setDelimiters(value: string): void {
    const [open, close, ...others] = value.split(/\s+/);
    if (open === undefined || open === "" || close === undefined || others.length > 0) {
      throw new ValidationError(
        `The template sets invalid delimiters: ${quote(value)}. Write two of them, such as {{=<% %>=}}`,
      );
    }
    this.#delimiters = [open, close];
  }

  get #innermost(): OpenSection {
    // The first item, the template itself, is never removed.
    return this.#sections.at(-1) as OpenSection;
  }

  #skipSpaces(): void {
    while (/\s/.test(this.#template[this.#position] ?? "")) {
      this.#position += 1;
    }
  }
}

/** The kinds of tags, by the sign after the opening braces. A tag with another sign or without one is a variable. */
const markKinds: Readonly<Record<string, TemplateMark["kind"]>> = {
  "#": "section",
  "^": "inverted",
  "/": "end",
  "!": "comment",
  "=": "delimiters",
};

const toRoot = (name: string): string => name.split(".")[0] ?? name;

const quote = (text: string): string => JSON.stringify(text.slice(0, 64));
