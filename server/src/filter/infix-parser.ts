import { comparators } from "./ast.ts";
import type { Comparator, Filter, Literal } from "./ast.ts";
import { FilterError, quoteName } from "./filter-error.ts";
import type { Span } from "./filter-error.ts";
import { durationUnits } from "./operands.ts";
import { readText } from "./lexer.ts";
import type { PunctuationMark } from "./lexer.ts";
import { filterLimits, parseFunctions } from "./parser.ts";
import { TokenReader } from "./token-reader.ts";
import type { CommonToken } from "./token-reader.ts";

/**
 * Parses a filter, without checking its fields, in any of its forms: functions such as `gt(latency, "5s")`, comparisons
 * with operators such as `latency > 5s`, and words, which are searched for. Forms can be combined with `and`, `or`,
 * `not` and parentheses; without one of these, all parts must match.
 *
 * @param isDuration - whether a field is a duration. The unit of its value may then follow after a space.
 * @throws FilterError the filter is malformed or too large. The message contains the position.
 */
export function parseFilter(
  text: string,
  isDuration: (fieldName: string) => boolean = () => false,
): Filter {
  const parseInfix = (): Filter => new InfixParser(text, isDuration).parse();
  if (text.length > filterLimits.length || !nonBlankPattern.test(text)) {
    return parseFunctions(text);
  }
  if (!functionStartPattern.test(text)) {
    return parseInfix();
  }
  try {
    return parseFunctions(text);
  } catch (functionError) {
    try {
      return parseInfix();
    } catch (infixError) {
      // Report the error that is further right: it is probably in the part that the user is writing.
      throw toOffset(infixError) > toOffset(functionError) ? infixError : functionError;
    }
  }
}

const nonBlankPattern = /\S/;
const functionStartPattern = /^\s*[A-Za-z_][\w-]*\s*\(/;

const toOffset = (cause: unknown): number => (cause instanceof FilterError ? cause.offset : -1);

/** The smallest unit of a filter with operators. Everything that is not another kind of token is a word. */
type InfixToken =
  | CommonToken
  | (Span &
      (
        | { readonly kind: "word"; readonly word: string }
        | { readonly kind: "operator"; readonly comparator: Comparator }
      ));

const operators: Readonly<Record<string, Comparator>> = {
  "=": "eq",
  "==": "eq",
  "!=": "neq",
  "<>": "neq",
  ">": "gt",
  ">=": "gte",
  "<": "lt",
  "<=": "lte",
};

/** Words that compare a field with the quoted text after them. */
const wordOperators: Readonly<Record<string, Comparator>> = {
  contains: "search",
  search: "search",
  like: "like",
  has: "has",
};

/** Maximum length of a search word without quotes. A text in quotes may be longer. */
const maxWordChars = 1_000;
const functionNames: ReadonlySet<string> = new Set(["and", "or", "not", ...comparators]);
const tokenPattern =
  /\s*(?:(?<mark>[()[\],])|(?<operator>[<>!=]=|<>|[<>=])|(?<word>[^\s()[\],"<>=]+))/y;
const fieldPattern = /^[A-Za-z_][\w-]*(?:\.[\w-]+)*$/;
const numberPattern = /^-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/** Parses words, comparisons with operators, and functions between them, from left to right. */
class InfixParser extends TokenReader<InfixToken> {
  readonly #isDuration: (fieldName: string) => boolean;

  constructor(text: string, isDuration: (fieldName: string) => boolean) {
    super(text, tokenize(text));
    this.#isDuration = isDuration;
  }

  protected readonly describe = describe;

  parse(): Filter {
    const filter = this.#parseAlternatives(1);
    this.expectEnd();
    this.#checkSize(filter);
    return filter;
  }

  /** Checks the limits for the whole filter, because its parts may be written in different forms. */
  #checkSize(filter: Filter): void {
    let nodes = 0;
    const visit = (node: Filter, depth: number): void => {
      nodes += 1;
      if (nodes > filterLimits.nodes) {
        throw this.createError(node, `more than ${filterLimits.nodes} conditions`);
      }
      this.#checkDepth(node, depth);
      listParts(node).forEach((part) => visit(part, depth + 1));
    };
    visit(filter, 1);
  }

  #checkDepth(span: Span, depth: number): void {
    if (depth > filterLimits.depth) {
      throw this.createError(
        span,
        `conditions are nested more than ${filterLimits.depth} levels deep`,
      );
    }
  }

  #parseAlternatives(depth: number): Filter {
    const parts = [this.#parseConjunction(depth)];
    while (this.#isWord("or")) {
      this.next += 1;
      parts.push(this.#parseConjunction(depth));
    }
    return this.#combine("or", parts);
  }

  /** Parses parts that must all match, whether or not `and` is between them. */
  #parseConjunction(depth: number): Filter {
    const parts = [this.#parsePart(depth)];
    for (;;) {
      if (this.#isWord("and") && !this.#isListOfFunctions()) {
        this.next += 1;
      } else if (this.#isEndOfPart()) {
        return this.#combine("and", parts);
      }
      parts.push(this.#parsePart(depth));
    }
  }

  #isEndOfPart(): boolean {
    const token = this.peek();
    return (
      token.kind === "end" || (token.kind === "mark" && token.mark === ")") || this.#isWord("or")
    );
  }

  #combine(kind: "and" | "or", parts: readonly Filter[]): Filter {
    const [first, ...others] = parts;
    const lastPart = others.at(-1);
    if (first === undefined || lastPart === undefined) {
      return first ?? this.#parsePart(1);
    }
    const { offset } = first;
    return { kind, parts, offset, length: lastPart.offset + lastPart.length - offset };
  }

  #parsePart(depth: number): Filter {
    const token = this.peek();
    // This check limits the recursion even if each pair of parentheses contains only one part.
    this.#checkDepth(token, depth);
    if (this.#isWord("not") && this.peek(1).kind !== "operator") {
      this.next += 1;
      const part = this.#parsePart(depth + 1);
      return { kind: "not", part, ...createSpan(token, part) };
    }
    if (token.kind === "mark" && token.mark === "(") {
      this.next += 1;
      const filter = this.#parseAlternatives(depth + 1);
      this.expectMark(")", "after the conditions in parentheses");
      return filter;
    }
    if (token.kind === "text") {
      this.next += 1;
      return createSearch(token.text, token);
    }
    const isConnective = this.#isWord("and") || this.#isWord("or");
    if (token.kind !== "word" || (isConnective && !this.#isFunctionCall())) {
      throw this.createError(
        token,
        `expected a word or a condition such as latency > 5s, found ${describe(token)}`,
      );
    }
    if (this.#isFunctionCall()) {
      return this.#parseFunction(token);
    }
    return this.#parseComparison(token) ?? this.#parseWord(token);
  }

  /** Whether a function and its arguments follow: a known name before a parenthesis, or any name right before one. */
  #isFunctionCall(): boolean {
    const [name, open] = [this.peek(), this.peek(1)];
    return (
      name.kind === "word" &&
      open.kind === "mark" &&
      open.mark === "(" &&
      (functionNames.has(name.word) ||
        (fieldPattern.test(name.word) && open.offset === name.offset + name.length))
    );
  }

  /**
   * Whether several functions, separated by commas, follow in parentheses, as in `refund and(eq(…), eq(…))`. Conditions
   * in parentheses contain no such comma. The parts of this `and` must all match in addition to what precedes it, so it
   * means the same whether it is read as the function or as the connective.
   */
  #isListOfFunctions(): boolean {
    const [firstName, firstMark] = [this.peek(2), this.peek(3)];
    if (
      !this.isMark("(", 1) ||
      firstName.kind !== "word" ||
      firstMark.kind !== "mark" ||
      firstMark.mark !== "("
    ) {
      return false;
    }
    let depth = 0;
    for (let ahead = 1; ; ahead += 1) {
      const token = this.peek(ahead);
      if (token.kind === "end" || (depth === 1 && this.isMark(")", ahead))) {
        return false;
      }
      if (depth === 1 && this.isMark(",", ahead)) {
        return true;
      }
      if (token.kind === "mark" && token.mark !== ",") {
        depth += token.mark === "(" || token.mark === "[" ? 1 : -1;
      }
    }
  }

  /** Parses a function and its arguments with the parser of functions. */
  #parseFunction({ offset }: Span): Filter {
    let depth = 0;
    do {
      const token = this.peek();
      if (token.kind === "end") {
        break;
      }
      if (token.kind === "mark" && (token.mark === "(" || token.mark === ")")) {
        depth += token.mark === "(" ? 1 : -1;
      }
      this.next += 1;
    } while (depth > 0 || this.peek(-1).kind === "word");
    const lastToken = this.peek(-1);
    const source = this.text.slice(offset, lastToken.offset + lastToken.length);
    try {
      // Replace the text before the function by spaces, so that the positions of errors stay correct.
      return parseFunctions(" ".repeat(offset) + source);
    } catch (cause) {
      throw cause instanceof FilterError ? this.createError(cause, cause.reason) : cause;
    }
  }

  /** Parses a field, an operator or `not in`, and a value; `undefined` if the word is not followed by an operator. */
  #parseComparison(field: InfixToken & { readonly kind: "word" }): Filter | undefined {
    const isNegated = this.#isWord("not", 1) && this.#isWord("in", 2) && this.#isListAt(3);
    const comparator = isNegated ? "in" : this.#readComparator();
    if (comparator === undefined) {
      return undefined;
    }
    if (!fieldPattern.test(field.word)) {
      throw this.createError(
        field,
        `expected a field before the operator, found ${describe(field)}`,
      );
    }
    this.next += isNegated ? 3 : 2;
    const value = comparator === "in" ? this.#parseList() : this.#parseValue();
    const operand = this.#isDuration(field.word) ? this.#addUnit(value) : value;
    const { word: name, offset, length } = field;
    const span = createSpan(field, operand);
    const comparison: Filter = {
      kind: "comparison",
      comparator,
      field: { name, offset, length },
      operand,
      ...span,
    };
    return isNegated ? { kind: "not", part: comparison, ...span } : comparison;
  }

  /** Adds the unit after a number, as in `latency > 5 s`. A unit before an operator is a field. */
  #addUnit(value: Literal): Literal {
    const [unit, following] = [this.peek(), this.peek(1)];
    if (
      value.kind !== "number" ||
      unit.kind !== "word" ||
      !durationUnits.has(unit.word) ||
      following.kind === "operator"
    ) {
      return value;
    }
    this.next += 1;
    return { kind: "text", text: `${value.number}${unit.word}`, ...createSpan(value, unit) };
  }

  /** Returns the comparator that the token after the field stands for; `undefined` if it is not an operator. */
  #readComparator(): Comparator | undefined {
    const [token, value] = [this.peek(1), this.peek(2)];
    if (token.kind === "operator") {
      return token.comparator;
    }
    if (token.kind !== "word") {
      return undefined;
    }
    const word = token.word.toLowerCase();
    if (word === "in") {
      return this.#isListAt(2) ? "in" : undefined;
    }
    return value.kind === "text" && Object.hasOwn(wordOperators, word)
      ? wordOperators[word]
      : undefined;
  }

  /**
   * Whether a list of values begins at a token. In parentheses, as in SQL, its second value distinguishes it from the
   * arguments of the function `in`, which are a field and a list.
   */
  #isListAt(index: number): boolean {
    const [open, first, comma, second] = [0, 1, 2, 3].map((step) => this.peek(index + step));
    if (open?.kind !== "mark" || open.mark !== "(") {
      return open?.kind === "mark" && open.mark === "[";
    }
    const isFunction = comma?.kind === "mark" && comma.mark === "," && second?.kind === "mark";
    return (first?.kind === "text" || first?.kind === "word") && !isFunction;
  }

  #parseList(): Literal {
    const { offset } = this.peek();
    const closingMark = this.isMark("(") ? ")" : "]";
    this.next += 1;
    const items = [this.#parseValue()];
    while (this.isMark(",")) {
      this.next += 1;
      items.push(this.#parseValue());
    }
    const close = this.peek();
    this.expectMark(closingMark, "after the values of in");
    return { kind: "list", items, offset, length: close.offset + close.length - offset };
  }

  #parseValue(): Literal {
    const token = this.peek();
    const { offset, length } = token;
    if (token.kind === "text") {
      this.next += 1;
      return { kind: "text", text: token.text, offset, length };
    }
    if (token.kind !== "word") {
      throw this.createError(token, `expected a value, found ${describe(token)}`);
    }
    this.next += 1;
    const { word } = token;
    if (word === "null") {
      return { kind: "null", offset, length };
    }
    if (word === "true" || word === "false") {
      return { kind: "boolean", boolean: word === "true", offset, length };
    }
    const isNumber = numberPattern.test(word) && Number.isFinite(Number(word));
    return isNumber
      ? { kind: "number", number: Number(word), offset, length }
      : { kind: "text", text: word, offset, length };
  }

  #parseWord(token: InfixToken & { readonly kind: "word" }): Filter {
    const next = this.peek(1);
    if (next.kind === "mark" && next.mark !== "(" && next.mark !== ")") {
      throw this.createError(next, `unexpected ${next.mark}; put a text with it in quotes`);
    }
    if (token.length > maxWordChars) {
      throw this.createError(token, `a word has more than ${maxWordChars} characters`);
    }
    this.next += 1;
    return createSearch(token.word, token);
  }

  #isWord(word: string, ahead = 0): boolean {
    const token = this.peek(ahead);
    return token.kind === "word" && token.word.toLowerCase() === word;
  }
}

function listParts(node: Filter): readonly Filter[] {
  if (node.kind === "comparison") {
    return [];
  }
  return node.kind === "not" ? [node.part] : node.parts;
}

const createSpan = ({ offset }: Span, lastSpan: Span): Span => ({
  offset,
  length: lastSpan.offset + lastSpan.length - offset,
});

const createSearch = (text: string, { offset, length }: Span): Filter => ({
  kind: "comparison",
  comparator: "search",
  operand: { kind: "text", text, offset, length },
  offset,
  length,
});

/** @throws FilterError a text has no closing quote, or contains an unknown escape. */
function tokenize(text: string): readonly InfixToken[] {
  const tokens: InfixToken[] = [];
  const end = text.trimEnd().length;
  for (let position = 0; position < end;) {
    const start = position + (/^\s*/.exec(text.slice(position, end))?.[0].length ?? 0);
    const token: InfixToken = isQuote(text.charAt(start))
      ? readText(text, start)
      : readToken(text, start);
    tokens.push(token);
    position = token.offset + token.length;
  }
  return tokens;
}

const isQuote = (character: string): boolean => character === '"' || character === "'";

function readToken(text: string, offset: number): InfixToken {
  tokenPattern.lastIndex = offset;
  const { mark, operator, word = "" } = tokenPattern.exec(text)?.groups ?? {};
  if (mark !== undefined) {
    return { kind: "mark", mark: mark as PunctuationMark, offset, length: 1 };
  }
  const comparator = operator === undefined ? undefined : operators[operator];
  return operator !== undefined && comparator !== undefined
    ? { kind: "operator", comparator, offset, length: operator.length }
    : { kind: "word", word, offset, length: word.length };
}

function describe(token: InfixToken): string {
  switch (token.kind) {
    case "word":
      return quoteName(token.word);
    case "text":
      return "a quoted text";
    case "operator":
      return "an operator";
    case "mark":
      return token.mark;
    case "end":
      return "the end of the filter";
  }
}
