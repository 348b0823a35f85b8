import { comparators } from "./ast.ts";
import type { Comparator, FieldName, Filter, Literal } from "./ast.ts";
import { FilterError, quoteName, suggestName } from "./filter-error.ts";
import type { Span } from "./filter-error.ts";
import { tokenize } from "./lexer.ts";
import type { PunctuationMark, Token } from "./lexer.ts";
import { TokenReader } from "./token-reader.ts";

/**
 * Limits of one filter. With them, the time for parsing and compiling a filter is proportional to its length, and
 * SQLite's parser, whose stack holds 100 symbols, can parse the compiled SQL.
 */
export const filterLimits = {
  /** Maximum number of characters. */
  length: 10_000,
  /** Maximum nesting of functions. */
  depth: 12,
  /** Maximum number of functions, and of values in a JSON object that the filter searches for. */
  nodes: 256,
  /** Maximum nesting of a JSON object that the filter searches for. */
  jsonDepth: 32,
  /** Maximum nesting of lists that contain lists or objects, in such a JSON object. */
  jsonNesting: 2,
  /** Like `jsonNesting`, for an object that the filter searches for at a path. */
  jsonNestingAtPath: 1,
  /** Number of levels of a JSON value that are searched for entries. */
  entryDepth: 64,
} as const;

const combinations = ["and", "or", "not"] as const;
const functionNames = [...combinations, ...comparators];

const isComparator = (name: string): name is Comparator =>
  (comparators as readonly string[]).includes(name);

/**
 * Parses a filter that consists of functions, without checking its fields; see `parseFilter` for the other forms.
 *
 * @throws FilterError the filter is malformed or too large. The message contains the position.
 */
export function parseFunctions(text: string): Filter {
  if (text.length > filterLimits.length) {
    throw new FilterError(text, {
      reason: `the filter has ${text.length} characters; up to ${filterLimits.length} are allowed`,
      offset: filterLimits.length,
      length: 1,
    });
  }
  return new Parser(text).parse();
}

/** Parses the tokens in one pass, from left to right. */
class Parser extends TokenReader<Token> {
  #nodes = 0;

  constructor(text: string) {
    super(text, tokenize(text));
  }

  protected readonly describe = describeToken;

  parse(): Filter {
    const filter = this.#parseFilter(1);
    const token = this.peek();
    if (token.kind === "name" && (token.name === "and" || token.name === "or")) {
      throw this.createError(
        token,
        `the filter has ended here; write ${token.name}(…, …) around both parts`,
      );
    }
    this.expectEnd();
    return filter;
  }

  #parseFilter(depth: number): Filter {
    const token = this.peek();
    if (token.kind !== "name") {
      throw this.createError(
        token,
        `expected a function, found ${describeToken(token)}; ${allFunctions}`,
      );
    }
    this.#countFunction(token, depth);
    this.next += 1;
    const { name, offset } = token;
    if (name === "and" || name === "or") {
      this.expectMark("(", `after ${name}`);
      const parts = this.#parseList(")", () => this.#parseFilter(depth + 1));
      return { kind: name, parts, ...this.#createSpan(offset) };
    }
    if (name === "not") {
      this.expectMark("(", "after not");
      const part = this.#parseFilter(depth + 1);
      this.expectMark(")", "after the argument of not");
      return { kind: "not", part, ...this.#createSpan(offset) };
    }
    if (!isComparator(name)) {
      const hint = suggestName(name, functionNames);
      throw this.createError(
        token,
        `unknown function ${quoteName(name)}${hint || ";"} ${allFunctions}`,
      );
    }
    return this.#parseComparison(name, offset);
  }

  #parseComparison(comparator: Comparator, offset: number): Filter {
    this.expectMark("(", `after ${comparator}`);
    const onlyField = comparator === "exists" ? this.#parseOnlyField() : undefined;
    if (onlyField !== undefined) {
      this.expectMark(")", "after the field of exists");
      return { kind: "exists", field: onlyField, ...this.#createSpan(offset) };
    }
    const { field, operand } =
      (comparator === "exists" ? this.#parsePathArgument() : undefined) ??
      ({ field: this.#parseField(comparator), operand: this.#parseLiteral() } as const);
    this.expectMark(")", `after the value of ${comparator}`);
    return {
      kind: "comparison",
      comparator,
      ...(field === undefined ? {} : { field }),
      operand,
      ...this.#createSpan(offset),
    };
  }

  /**
   * Parses the name of a field as the only argument of `exists`; `undefined` if it is a path or has a value after it.
   */
  #parseOnlyField(): FieldName | undefined {
    const token = this.peek();
    if (
      token.kind !== "name" ||
      token.name.includes(".") ||
      isKeyword(token.name) ||
      !this.isMark(")", 1)
    ) {
      return undefined;
    }
    this.next += 1;
    return { name: token.name, offset: token.offset, length: token.length };
  }

  /** Parses a path as the only argument of `exists`: `metadata.a.b` is short for `metadata, "a.b"`. */
  #parsePathArgument(): { readonly field: FieldName; readonly operand: Literal } | undefined {
    const [token, isOnlyArgument] = [this.peek(), this.isMark(")", 1)];
    const dotPosition = token.kind === "name" ? token.name.indexOf(".") : -1;
    if (token.kind !== "name" || dotPosition === -1 || !isOnlyArgument) {
      return undefined;
    }
    this.#consumeFieldName(token);
    const [name, text] = [token.name.slice(0, dotPosition), token.name.slice(dotPosition + 1)];
    const { offset } = token;
    return {
      field: { name, offset, length: dotPosition },
      operand: { kind: "text", text, offset: offset + dotPosition + 1, length: text.length },
    };
  }

  #parseField(comparator: Comparator): FieldName | undefined {
    const token = this.peek();
    if (comparator === "search" && token.kind === "text") {
      return undefined;
    }
    if (token.kind !== "name" || isKeyword(token.name)) {
      const form = comparator === "search" ? ' or a quoted text, as in search("text")' : "";
      throw this.createError(
        token,
        `expected a field, found ${describeToken(token)}; ${comparator} takes a field and a value${form}`,
      );
    }
    this.#consumeFieldName(token);
    this.expectMark(",", `after the field of ${comparator}`);
    return { name: token.name, offset: token.offset, length: token.length };
  }

  /** Consumes the name of a field, which may be a path. */
  #consumeFieldName(token: Token & { readonly kind: "name" }): void {
    const maxSegments = filterLimits.entryDepth;
    if (token.name.split(".").length - 1 > maxSegments) {
      throw this.createError(
        token,
        `${quoteName(token.name)} has more than ${maxSegments} segments`,
      );
    }
    this.next += 1;
  }

  #parseLiteral(): Literal {
    const token = this.peek();
    const { offset, length } = token;
    if (token.kind === "mark" && token.mark === "[") {
      this.next += 1;
      const items = this.#parseList("]", () => this.#parseScalar());
      return { kind: "list", items, ...this.#createSpan(offset) };
    }
    return { ...this.#parseScalar(), offset, length };
  }

  #parseScalar(): Literal {
    const token = this.peek();
    const { offset, length } = token;
    if (token.kind === "text" || token.kind === "number") {
      this.next += 1;
      return token;
    }
    if (token.kind === "name" && isKeyword(token.name)) {
      this.next += 1;
      return token.name === "null"
        ? { kind: "null", offset, length }
        : { kind: "boolean", boolean: token.name === "true", offset, length };
    }
    throw this.createError(
      token,
      `expected a value, found ${describeToken(token)}; ${createValueHint(token)}`,
    );
  }

  /** Parses items that are separated by commas, up to the closing mark. There must be at least one item. */
  #parseList<Item>(close: PunctuationMark, parseItem: () => Item): Item[] {
    const items = [parseItem()];
    for (;;) {
      const token = this.peek();
      if (token.kind === "mark" && token.mark === close) {
        this.next += 1;
        return items;
      }
      if (token.kind !== "mark" || token.mark !== ",") {
        throw this.createError(token, `expected , or ${close}, found ${describeToken(token)}`);
      }
      this.next += 1;
      items.push(parseItem());
    }
  }

  #countFunction(token: Token, depth: number): void {
    this.#nodes += 1;
    if (this.#nodes > filterLimits.nodes) {
      throw this.createError(token, `more than ${filterLimits.nodes} functions`);
    }
    if (depth > filterLimits.depth) {
      throw this.createError(
        token,
        `functions are nested more than ${filterLimits.depth} levels deep`,
      );
    }
  }

  /** Returns the span from an offset to the end of the last consumed token. */
  #createSpan(offset: number): Span {
    const lastToken = this.peek(-1);
    return { offset, length: lastToken.offset + lastToken.length - offset };
  }
}

const allFunctions = `functions are ${functionNames.join(", ")}`;

const isKeyword = (name: string): boolean => name === "true" || name === "false" || name === "null";

function describeToken(token: Token): string {
  switch (token.kind) {
    case "name":
      return quoteName(token.name);
    case "text":
      return "a quoted text";
    case "number":
      return `the number ${token.number}`;
    case "mark":
      return token.mark;
    case "end":
      return "the end of the filter";
  }
}

/**
 * Describes the allowed values. If the token is a name, which is often a keyword of another language such as `True`,
 * also suggests what to write instead.
 */
function createValueHint(token: Token): string {
  const allowed = "values are quoted texts, numbers, true, false, null, or a list of them in [ ]";
  if (token.kind !== "name") {
    return allowed;
  }
  const equivalents: Readonly<Record<string, string>> = {
    True: "true",
    False: "false",
    None: "null",
  };
  const equivalent = Object.hasOwn(equivalents, token.name) ? equivalents[token.name] : undefined;
  return `${allowed}; did you mean ${equivalent ?? JSON.stringify(token.name.slice(0, 40))}?`;
}
