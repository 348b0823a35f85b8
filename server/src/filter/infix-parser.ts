import type { Comparator, Filter, Literal } from "./ast.ts";
import { FilterError, quoteName } from "./filter-error.ts";
import type { Span } from "./filter-error.ts";
import { describeInfixToken, functionNames, tokenize } from "./infix-lexer.ts";
import type { InfixToken } from "./infix-lexer.ts";
import { durationUnits } from "./operands.ts";
import { filterLimits, parseFunctions } from "./parser.ts";
import { TokenReader } from "./token-reader.ts";
import {
  findOperatorWord,
  isTextOperator,
  listOperators,
  suggestOperators,
} from "./operator-words.ts";

/** What the parser has to know about the fields of a list. */
export interface KnownFields {
  /** Whether a field is a duration. The unit of its value may then follow after a space. */
  readonly isDuration: (name: string) => boolean;
  /** Returns the comparators of a field; `undefined` if there is no such field. */
  readonly findComparators: (name: string) => readonly Comparator[] | undefined;
}

const noFields: KnownFields = { isDuration: () => false, findComparators: () => undefined };

/**
 * Parses a filter, without checking its fields, in any of its forms: functions such as `gt(latency, "5s")`, comparisons
 * with operators such as `latency > 5s`, and words, which are searched for. Forms can be combined with `and`, `or`,
 * `not` and parentheses; without one of these, all parts must match.
 *
 * @param reading - `saved` is for filters that earlier versions have saved: words that have become operators or
 *   connectives since then are search words.
 * @throws FilterError the filter is malformed or too large. The message contains the position.
 */
export function parseFilter(
  text: string,
  fields: KnownFields = noFields,
  reading: "current" | "saved" = "current",
): Filter {
  const parseInfix = (): Filter => new InfixParser(text, fields, reading === "saved").parse();
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

/** Maximum length of a search word without quotes. A text in quotes may be longer. */
const maxWordChars = 1_000;
const fieldPattern = /^[A-Za-z_][\w-]*(?:\.[\w-]+)*$/;
const numberPattern = /^-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/** A field and a value, as in `status:error`. A word with `::` or `:/` is a name or an address instead. */
const fieldWithColonPattern = /^([A-Za-z_][\w-]*(?:\.[\w-]+)*):((?![:/]).*)$/s;

type WordToken = InfixToken & { readonly kind: "word" };

/** The operator after a field. */
interface Operator {
  readonly comparator: Comparator;
  readonly isNegated?: boolean;
  /** Number of tokens of the operator. */
  readonly tokens: number;
  /** Whether a value without quotes is a text, even if it looks like a number. */
  readonly hasBareText?: boolean;
  /** Whether the operator is a word. After it, `null`, `true` and `false` may also be written in upper case. */
  readonly isWord?: boolean;
}

/** Parses words, comparisons with operators, and functions between them, from left to right. */
class InfixParser extends TokenReader<InfixToken> {
  readonly #fields: KnownFields;
  readonly #isSaved: boolean;

  constructor(text: string, fields: KnownFields, isSaved: boolean) {
    super(text, tokenize(text, !isSaved));
    this.#fields = fields;
    this.#isSaved = isSaved;
  }

  protected readonly describe = describeInfixToken;

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
    while (this.#isConnective("or")) {
      this.next += 1;
      parts.push(this.#parseConjunction(depth));
    }
    return this.#combine("or", parts);
  }

  /** Parses parts that must all match, whether or not `and` is between them. */
  #parseConjunction(depth: number): Filter {
    const parts = [this.#parsePart(depth)];
    for (;;) {
      let isInText = false;
      if (this.#isConnective("and") && !(this.#isWord("and") && this.#isListOfFunctions())) {
        this.next += 1;
      } else if (this.#isEndOfPart()) {
        return this.#combine("and", parts);
      } else {
        isInText = this.peek(-1).kind === "word" && endsInSearch(parts.at(-1));
      }
      parts.push(this.#parsePart(depth, isInText));
    }
  }

  #isEndOfPart(): boolean {
    const token = this.peek();
    return token.kind === "end" || this.isMark(")") || this.#isConnective("or");
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

  /** @param isInText - whether a search word precedes. Operator words such as `is` are then search words, too. */
  #parsePart(depth: number, isInText = false): Filter {
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
    const isConnective = this.#isConnective("and") || this.#isConnective("or");
    if (token.kind !== "word" || (isConnective && !this.#isFunctionCall())) {
      throw this.createError(
        token,
        `expected a word or a condition such as latency > 5s, found ${describeInfixToken(token)}`,
      );
    }
    if (this.#isFunctionCall()) {
      return this.#parseFunction(token);
    }
    return this.#parseComparison(token, isInText) ?? this.#parseWord(token);
  }

  /** Whether a function and its arguments follow: a known name before a parenthesis, or any name right before one. */
  #isFunctionCall(ahead = 0): boolean {
    const [name, open] = [this.peek(ahead), this.peek(ahead + 1)];
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
      // Replace the text before the function with spaces, so that the positions of errors stay correct.
      return parseFunctions(" ".repeat(offset) + source);
    } catch (cause) {
      throw cause instanceof FilterError ? this.createError(cause, cause.reason) : cause;
    }
  }

  /** Parses a field, an operator, and a value; `undefined` if the word is not followed by an operator. */
  #parseComparison(field: WordToken, isInText: boolean): Filter | undefined {
    const operator =
      this.#findOperator(0) ?? (isInText ? undefined : this.#findBareOperator(field));
    if (operator === undefined) {
      return undefined;
    }
    if (!fieldPattern.test(field.word)) {
      throw this.createError(
        field,
        `expected a field before the operator, found ${describeInfixToken(field)}`,
      );
    }
    this.next += 1 + operator.tokens;
    const { comparator, isNegated = false } = operator;
    const operand = this.#parseOperand(field, operator);
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

  #parseOperand(
    field: WordToken,
    { comparator, hasBareText = false, isWord = false }: Operator,
  ): Literal {
    if (comparator === "in") {
      return this.#parseList();
    }
    const token = this.peek();
    if (hasBareText && token.kind === "word") {
      this.next += 1;
      const { word: text, offset, length } = token;
      return { kind: "text", text, offset, length };
    }
    const value = this.#parseValue(isWord);
    return this.#fields.isDuration(field.word) ? this.#addUnit(value) : value;
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

  /**
   * Finds an operator that is one after any word: a symbol, `in` before a list, or an operator word before a quoted
   * text. Returns `undefined` if there is none. `ahead` is the position of the word, from the next token on.
   */
  #findOperator(ahead: number): Operator | undefined {
    const token = this.peek(ahead + 1);
    if (token.kind === "operator") {
      return { comparator: token.comparator, tokens: 1 };
    }
    const isNegated = this.#isWord("not", ahead + 1);
    const tokens = isNegated ? 2 : 1;
    const word = this.peek(ahead + tokens);
    if (word.kind !== "word") {
      return undefined;
    }
    if (word.word.toLowerCase() === "in") {
      return this.#isListAt(ahead + tokens + 1)
        ? { comparator: "in", isNegated, tokens }
        : undefined;
    }
    const operator = findOperatorWord(word.word);
    const isBeforeText = this.peek(ahead + tokens + 1).kind === "text";
    return operator !== undefined &&
      isTextOperator(operator) &&
      isBeforeText &&
      !(isNegated && this.#isSaved)
      ? { comparator: operator, isNegated, tokens }
      : undefined;
  }

  /**
   * Finds an operator that counts as one only after a known field, and only where a condition begins: `is`, `eq` and
   * similar words, and every operator word before a value without quotes. Elsewhere these words are often part of a
   * text.
   *
   * @throws FilterError the field does not support this operator, or its value consists of several words.
   */
  #findBareOperator(field: WordToken): Operator | undefined {
    const comparators = this.#isSaved ? undefined : this.#fields.findComparators(field.word);
    const operator = comparators && this.#findWordOperator();
    if (comparators === undefined || operator === undefined) {
      return undefined;
    }
    const { tokens, comparator } = operator;
    const value = this.peek(tokens + 1);
    const operatorText = this.#slice(this.peek(1), this.peek(tokens));
    if (value.kind === "mark" && (value.mark === "(" || value.mark === "[")) {
      throw this.createError(
        value,
        `expected a word or a quoted text after ${operatorText}, found ${value.mark}`,
      );
    }
    if (value.kind !== "text" && !this.#isBareValue(tokens + 1)) {
      return undefined;
    }
    if (!comparators.includes(comparator)) {
      throw this.createError(
        { ...this.peek(1), length: operatorText.length },
        `${operatorText} can't be used with ${quoteName(field.word)}; it takes ${listOperators(comparators)}; to search for these words, put them in quotes`,
      );
    }
    this.#checkSingleWord(field, operator, operatorText);
    return operator;
  }

  /** Reads the words of an operator such as `has`, `not like` or `is not` after the field, which is the next token. */
  #findWordOperator(): Operator | undefined {
    const isNegated = this.#isWord("not", 1);
    const word = this.peek(isNegated ? 2 : 1);
    const comparator = word.kind === "word" ? findOperatorWord(word.word) : undefined;
    if (comparator === undefined) {
      return undefined;
    }
    if (isTextOperator(comparator)) {
      return { comparator, isNegated, tokens: isNegated ? 2 : 1, hasBareText: true };
    }
    if (isNegated) {
      return undefined;
    }
    return this.#isWord("is", 1) && this.#isWord("not", 2)
      ? { comparator: "neq", tokens: 2, isWord: true }
      : { comparator, tokens: 1, isWord: true };
  }

  /** Whether a token is a word that can only be the value of the operator before it. */
  #isBareValue(ahead: number): boolean {
    return this.peek(ahead).kind === "word" && !this.#isEndOfWords(ahead);
  }

  /** Whether a text ends before a token: the filter ends, goes on with `and`, `or` or `not`, or a condition begins. */
  #isEndOfWords(ahead: number): boolean {
    return (
      this.peek(ahead).kind !== "word" ||
      this.#isWord("and", ahead) ||
      this.#isWord("or", ahead) ||
      this.#isWord("not", ahead) ||
      this.#isFunctionCall(ahead) ||
      this.#findOperator(ahead) !== undefined ||
      this.#isFieldWithOperator(ahead)
    );
  }

  #isFieldWithOperator(ahead: number): boolean {
    const [field, word] = [this.peek(ahead), this.peek(ahead + 1)];
    return (
      field.kind === "word" &&
      word.kind === "word" &&
      this.#fields.findComparators(field.word) !== undefined &&
      findOperatorWord(word.word) !== undefined
    );
  }

  /** @throws FilterError more words follow the value of an operator word; they are probably part of the value. */
  #checkSingleWord(field: WordToken, { tokens, comparator }: Operator, operatorText: string): void {
    const valueIndex = tokens + 1;
    const value = this.peek(valueIndex);
    let count = 1;
    if (
      value.kind === "text" ||
      (!isTextOperator(comparator) && this.#isUnitAt(field, valueIndex + 1))
    ) {
      return;
    }
    while (!this.#isEndOfWords(valueIndex + count)) {
      count += 1;
    }
    if (count > 1) {
      const words = this.#slice(value, this.peek(valueIndex + count - 1));
      throw this.createError(
        { offset: value.offset, length: words.length },
        `a value of several words needs quotes: write ${field.word} ${operatorText} ${quoteValue(words)}; to search for all of these words, put them in quotes`,
      );
    }
  }

  #isUnitAt(field: WordToken, ahead: number): boolean {
    const unit = this.peek(ahead);
    return (
      this.#fields.isDuration(field.word) && unit.kind === "word" && durationUnits.has(unit.word)
    );
  }

  #slice(first: Span, last: Span): string {
    return this.text.slice(first.offset, last.offset + last.length);
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

  #parseValue(hasKeywordsInAnyCase = false): Literal {
    const token = this.peek();
    const { offset, length } = token;
    if (token.kind === "text") {
      this.next += 1;
      return { kind: "text", text: token.text, offset, length };
    }
    if (token.kind !== "word") {
      throw this.createError(token, `expected a value, found ${describeInfixToken(token)}`);
    }
    this.next += 1;
    const { word } = token;
    const keyword = hasKeywordsInAnyCase ? word.toLowerCase() : word;
    if (keyword === "null") {
      return { kind: "null", offset, length };
    }
    if (keyword === "true" || keyword === "false") {
      return { kind: "boolean", boolean: keyword === "true", offset, length };
    }
    const isNumber = numberPattern.test(word) && Number.isFinite(Number(word));
    return isNumber
      ? { kind: "number", number: Number(word), offset, length }
      : { kind: "text", text: word, offset, length };
  }

  #parseWord(token: WordToken): Filter {
    const next = this.peek(1);
    this.#checkColon(token);
    if (next.kind === "mark" && next.mark !== "(" && next.mark !== ")") {
      throw this.createError(
        next,
        `unexpected ${next.mark}; put a text that contains it in quotes`,
      );
    }
    if (token.length > maxWordChars) {
      throw this.createError(token, `a word has more than ${maxWordChars} characters`);
    }
    this.next += 1;
    return createSearch(token.word, token);
  }

  /** @throws FilterError the word is a field and a value with a colon between them, which other products accept. */
  #checkColon(token: WordToken): void {
    const [, field = "", written = ""] = fieldWithColonPattern.exec(token.word) ?? [];
    const comparators = this.#isSaved ? undefined : this.#fields.findComparators(field);
    if (comparators === undefined) {
      return;
    }
    const following = this.peek(1);
    const isAdjacent = following.offset === token.offset + token.length;
    const isBeforeList =
      following.kind === "mark" && (following.mark === "(" || following.mark === "[");
    if (written === "" && !(isAdjacent && (following.kind === "text" || isBeforeList))) {
      return;
    }
    const adjacentValue = following.kind === "text" ? this.#slice(following, following) : "…";
    const forms = suggestOperators(comparators)
      .map((operator) => `${field} ${operator} ${written === "" ? adjacentValue : written}`)
      .join(" or ");
    const search =
      written === "" ? "" : `, or ${quoteValue(token.word)} in quotes to search for this text`;
    throw this.createError(
      token,
      `a field and its value need an operator between them: write ${forms}${search}`,
    );
  }

  #isConnective(word: "and" | "or"): boolean {
    const token = this.peek();
    return token.kind === "connective" ? token.word === word : this.#isWord(word);
  }

  #isWord(word: string, ahead = 0): boolean {
    const token = this.peek(ahead);
    return token.kind === "word" && token.word.toLowerCase() === word;
  }
}

/** Whether a part is a search, or the negation of one. */
function endsInSearch(part: Filter | undefined): boolean {
  return part?.kind === "not"
    ? endsInSearch(part.part)
    : part?.kind === "comparison" && part.field === undefined;
}

const quoteValue = (text: string): string => JSON.stringify(text.slice(0, 100));

function listParts(node: Filter): readonly Filter[] {
  if (node.kind === "comparison" || node.kind === "exists") {
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
