import { toFilterTokens } from "./filter-tokens.ts";
import type { FilterToken } from "./filter-tokens.ts";

/**
 * Writes a filter in the form in which users type it. For example, `and(eq(model, "gpt-5"), gt(latency, "5s"))` becomes
 * `model = gpt-5 and latency > 5s`. A comparison that has no such form, such as `exists(metadata.a)`, remains a
 * function. A text that does not consist of complete functions is returned unchanged, because it already has this form
 * or is invalid. The server reads both forms as the same filter.
 */
export function toPlainFilter(filter: string): string {
  const text = filter.trim();
  const plainText = new FunctionReader(text).read()?.text;
  return plainText === undefined || plainText.length > maxChars ? text : plainText;
}

/** The maximum length of a filter. Words such as ` and ` may be longer than the function that they replace. */
const maxChars = 10_000;

/** The maximum depth of a filter. Deeper filters are not valid and are not converted. */
const maxDepth = 50;

/** A part of a filter, written without functions where possible. */
interface Part {
  readonly kind: "and" | "or" | "other";
  readonly text: string;
}

/** Reads nested functions, from left to right. */
class FunctionReader {
  readonly #text: string;
  readonly #tokens: readonly FilterToken[];
  #nextIndex = 0;

  constructor(text: string) {
    this.#text = text;
    this.#tokens = toFilterTokens(text);
  }

  /** Returns `undefined` if the text is anything other than one complete function. */
  read(): Part | undefined {
    const part = this.#readPart(1);
    return this.#nextIndex === this.#tokens.length ? part : undefined;
  }

  #readPart(depth: number): Part | undefined {
    const start = this.#nextIndex;
    const name = this.#tokens[start];
    if (name?.kind !== "name" || !this.#isMark("(", start + 1) || depth > maxDepth) {
      return undefined;
    }
    switch (name.text) {
      case "and":
      case "or":
        return this.#readParts(name.text, depth);
      case "not":
        return this.#readNegation(depth);
      default:
        return this.#readComparison();
    }
  }

  #readParts(kind: "and" | "or", depth: number): Part | undefined {
    const parts: Part[] = [];
    do {
      // Skip the name and the parenthesis, or the comma.
      this.#nextIndex += parts.length === 0 ? 2 : 1;
      const part = this.#readPart(depth + 1);
      if (part === undefined) {
        return undefined;
      }
      parts.push(part);
    } while (this.#isMark(",", this.#nextIndex));
    if (!this.#isMark(")", this.#nextIndex)) {
      return undefined;
    }
    this.#nextIndex += 1;
    const [first, ...others] = parts;
    return first !== undefined && others.length === 0
      ? first
      : { kind, text: parts.map(enclose).join(` ${kind} `) };
  }

  #readNegation(depth: number): Part | undefined {
    this.#nextIndex += 2;
    const part = this.#readPart(depth + 1);
    if (part === undefined || !this.#isMark(")", this.#nextIndex)) {
      return undefined;
    }
    this.#nextIndex += 1;
    return { kind: "other", text: `not ${enclose(part)}` };
  }

  #readComparison(): Part | undefined {
    const start = this.#nextIndex;
    let depth = 0;
    do {
      const token = this.#tokens[this.#nextIndex];
      if (token === undefined) {
        return undefined;
      }
      if (token.kind === "mark" && (token.text === "(" || token.text === ")")) {
        depth += token.text === "(" ? 1 : -1;
      }
      this.#nextIndex += 1;
    } while (depth > 0 || this.#nextIndex === start + 1);
    const tokens = this.#tokens.slice(start, this.#nextIndex);
    return { kind: "other", text: this.#writeComparison(tokens) ?? this.#sliceText(tokens) };
  }

  /** Writes `gt(latency, "5s")` as `latency > 5s`; returns `undefined` if the comparison has no such form. */
  #writeComparison([name, , ...argumentTokens]: readonly FilterToken[]): string | undefined {
    const operands = argumentTokens.slice(0, -1);
    const [first, comma, ...values] = operands;
    const [value] = values;
    if (name?.text === "search" && first?.kind === "text" && operands.length === 1) {
      return this.#isPlainText(first) ? this.#sliceText([first]) : undefined;
    }
    if (first?.kind !== "name" || comma?.text !== "," || value === undefined) {
      return undefined;
    }
    const field = first.text;
    if (connectivePattern.test(field)) {
      return undefined;
    }
    const operator = operators.get(name?.text ?? "");
    if (operator !== undefined && values.length === 1) {
      const valueText = this.#writeValue(value);
      return valueText === undefined ? undefined : `${field} ${operator} ${valueText}`;
    }
    const wordOperator = wordOperators.get(name?.text ?? "");
    if (wordOperator !== undefined && values.length === 1 && this.#isPlainText(value)) {
      return `${field} ${wordOperator} ${this.#sliceText([value])}`;
    }
    return name?.text === "in" ? this.#writeList(field, values) : undefined;
  }

  #writeList(
    field: string,
    [openMark, ...otherTokens]: readonly FilterToken[],
  ): string | undefined {
    const items = otherTokens.slice(0, -1);
    const isList =
      openMark?.text === "[" &&
      otherTokens.at(-1)?.text === "]" &&
      items.length % 2 === 1 &&
      items.every((item, index) => index % 2 === 0 || item.text === ",");
    const values = items.filter((_item, index) => index % 2 === 0);
    const valueTexts = values.map((value) => this.#writeValue(value));
    return isList && !valueTexts.includes(undefined)
      ? `${field} in [${valueTexts.join(", ")}]`
      : undefined;
  }

  #writeValue(value: FilterToken): string | undefined {
    const valueText = this.#sliceText([value]);
    switch (value.kind) {
      case "number":
        return valueText;
      case "name":
        return keywords.has(value.text) ? valueText : undefined;
      case "text":
        return this.#isPlainText(value) ? toPlainValue(value.text, valueText) : undefined;
      case "mark":
      case "other":
        return undefined;
    }
  }

  /**
   * Whether a text means the same in both forms. Within a function, a single-quoted text with a backslash may be JSON,
   * which has different escapes.
   */
  #isPlainText(token: FilterToken): boolean {
    return (
      token.kind === "text" &&
      token.isClosed === true &&
      !(this.#text[token.from] === "'" && token.text.includes("\\"))
    );
  }

  #isMark(mark: string, index: number): boolean {
    const token = this.#tokens[index];
    return token?.kind === "mark" && token.text === mark;
  }

  #sliceText(tokens: readonly FilterToken[]): string {
    return this.#text.slice(tokens[0]?.from, tokens.at(-1)?.to);
  }
}

/** Encloses a part in parentheses if it consists of several parts. */
const enclose = ({ kind, text }: Part): string => (kind === "other" ? text : `(${text})`);

const operators: ReadonlyMap<string, string> = new Map([
  ["eq", "="],
  ["neq", "!="],
  ["gt", ">"],
  ["gte", ">="],
  ["lt", "<"],
  ["lte", "<="],
]);

/** Operators that need a quoted text after them. */
const wordOperators: ReadonlyMap<string, string> = new Map([
  ["has", "has"],
  ["like", "like"],
  ["search", "contains"],
]);

const keywords: ReadonlySet<string> = new Set(["true", "false", "null"]);

/** Matches words that are never read as a field before an operator. */
const connectivePattern = /^(?:and|or|not)$/i;

/**
 * Matches a text that can be written without quotes, because it is not read as a number, a keyword or several words.
 */
const plainValuePattern =
  /^(?!(?:true|false|null|and|or|not)$)(?:[A-Za-z_]|\d+[A-Za-z])[\w./:@-]*$/;

/** Writes a text value: without quotes if that means the same. Numbers need quotes to remain texts. */
export const toPlainValue = (text: string, quoted: string = JSON.stringify(text)): string =>
  plainValuePattern.test(text) && Number.isNaN(Number(text)) ? text : quoted;
