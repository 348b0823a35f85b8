import { comparators } from "./ast.ts";
import type { Comparator, FieldName, Filter, Literal } from "./ast.ts";
import { FilterError, quoteName, suggest } from "./filter-error.ts";
import type { Span } from "./filter-error.ts";
import { tokenize } from "./lexer.ts";
import type { Mark, Token } from "./lexer.ts";

/**
 * What one filter may ask for: a request is read and compiled in time that grows with its length only,
 * and SQLite's parser, which holds 100 symbols at once, can read what it is compiled to.
 */
export const filterLimits = {
  /** Characters. */
  length: 10_000,
  /** Functions within one another. */
  depth: 12,
  /** Functions, and values of JSON that is looked for. */
  nodes: 256,
  /** Levels of JSON that is looked for. */
  jsonDepth: 32,
  /** Lists and objects within items of lists within such items. */
  jsonNesting: 2,
  /** The same, of JSON that is looked for at a path. */
  jsonNestingAtPath: 1,
  /** Levels of a JSON value down which entries are looked for. */
  entryDepth: 64,
} as const;

const combinations = ["and", "or", "not"] as const;
const functionNames = [...combinations, ...comparators];

const isComparator = (name: string): name is Comparator =>
  (comparators as readonly string[]).includes(name);

/**
 * Reads a filter. Whether its fields exist is not looked at; see `checkFilter`.
 *
 * @throws FilterError it is no filter, or a large one; the message points at the fault.
 */
export function parseFilter(text: string): Filter {
  if (text.length > filterLimits.length) {
    throw new FilterError(text, {
      reason: `the filter has ${text.length} characters; up to ${filterLimits.length} are allowed`,
      offset: filterLimits.length,
      length: 1,
    });
  }
  return new Parser(text).parse();
}

/** One pass over the tokens, from left to right. */
class Parser {
  readonly #text: string;
  readonly #tokens: readonly Token[];
  #next = 0;
  #nodes = 0;

  constructor(text: string) {
    this.#text = text;
    this.#tokens = tokenize(text);
  }

  parse(): Filter {
    const filter = this.#filter(1);
    const rest = this.#token();
    if (rest.kind === "name" && (rest.name === "and" || rest.name === "or")) {
      throw this.#fault(
        rest,
        `the filter has ended here; write ${rest.name}(…, …) around both parts`,
      );
    }
    if (rest.kind !== "end") {
      throw this.#fault(rest, `expected the end of the filter, found ${describe(rest)}`);
    }
    return filter;
  }

  #filter(depth: number): Filter {
    const token = this.#token();
    if (token.kind !== "name") {
      throw this.#fault(token, `expected a function, found ${describe(token)}; ${allFunctions}`);
    }
    this.#count(token, depth);
    this.#next += 1;
    const { name, offset } = token;
    if (name === "and" || name === "or") {
      this.#mark("(", `after ${name}`);
      const parts = this.#list(")", () => this.#filter(depth + 1));
      return { kind: name, parts, ...this.#since(offset) };
    }
    if (name === "not") {
      this.#mark("(", "after not");
      const part = this.#filter(depth + 1);
      this.#mark(")", "behind the one argument of not");
      return { kind: "not", part, ...this.#since(offset) };
    }
    if (!isComparator(name)) {
      const hint = suggest(name, functionNames);
      throw this.#fault(token, `unknown function ${quoteName(name)}${hint || ";"} ${allFunctions}`);
    }
    return this.#comparison(name, offset);
  }

  #comparison(comparator: Comparator, offset: number): Filter {
    this.#mark("(", `after ${comparator}`);
    const { field, operand } =
      (comparator === "exists" ? this.#place() : undefined) ??
      ({ field: this.#field(comparator), operand: this.#literal() } as const);
    this.#mark(")", `behind the value of ${comparator}`);
    return {
      kind: "comparison",
      comparator,
      ...(field === undefined ? {} : { field }),
      operand,
      ...this.#since(offset),
    };
  }

  /** `metadata.a.b`, which alone within `exists` is short for `metadata, "a.b"`. */
  #place(): { readonly field: FieldName; readonly operand: Literal } | undefined {
    const [token, end] = this.#tokens.slice(this.#next, this.#next + 2);
    const at = token?.kind === "name" ? token.name.indexOf(".") : -1;
    if (token?.kind !== "name" || at === -1 || end?.kind !== "mark" || end.mark !== ")") {
      return undefined;
    }
    this.#take(token);
    const [name, text] = [token.name.slice(0, at), token.name.slice(at + 1)];
    const { offset } = token;
    return {
      field: { name, offset, length: at },
      operand: { kind: "text", text, offset: offset + at + 1, length: text.length },
    };
  }

  #field(comparator: Comparator): FieldName | undefined {
    const token = this.#token();
    if (comparator === "search" && token.kind === "text") {
      return undefined;
    }
    if (token.kind !== "name" || isWord(token.name)) {
      const form = comparator === "search" ? ' or a quoted text, as in search("text")' : "";
      throw this.#fault(
        token,
        `expected a field, found ${describe(token)}; ${comparator} takes a field and a value${form}`,
      );
    }
    this.#take(token);
    this.#mark(",", `after the field of ${comparator}`);
    return { name: token.name, offset: token.offset, length: token.length };
  }

  /** The name of a field, which may be a path. */
  #take(token: Token & { readonly kind: "name" }): void {
    const most = filterLimits.entryDepth;
    if (token.name.split(".").length - 1 > most) {
      throw this.#fault(token, `${quoteName(token.name)} has more than ${most} steps`);
    }
    this.#next += 1;
  }

  #literal(): Literal {
    const token = this.#token();
    const { offset, length } = token;
    if (token.kind === "mark" && token.mark === "[") {
      this.#next += 1;
      const items = this.#list("]", () => this.#scalar());
      return { kind: "list", items, ...this.#since(offset) };
    }
    return { ...this.#scalar(), offset, length };
  }

  #scalar(): Literal {
    const token = this.#token();
    const { offset, length } = token;
    if (token.kind === "text" || token.kind === "number") {
      this.#next += 1;
      return token;
    }
    if (token.kind === "name" && isWord(token.name)) {
      this.#next += 1;
      return token.name === "null"
        ? { kind: "null", offset, length }
        : { kind: "boolean", boolean: token.name === "true", offset, length };
    }
    throw this.#fault(token, `expected a value, found ${describe(token)}; ${valueHint(token)}`);
  }

  /** Items with commas between them, up to the closing mark: at least one. */
  #list<Item>(close: Mark, read: () => Item): Item[] {
    const items = [read()];
    for (;;) {
      const token = this.#token();
      if (token.kind === "mark" && token.mark === close) {
        this.#next += 1;
        return items;
      }
      if (token.kind !== "mark" || token.mark !== ",") {
        throw this.#fault(token, `expected , or ${close}, found ${describe(token)}`);
      }
      this.#next += 1;
      items.push(read());
    }
  }

  #mark(mark: Mark, place: string): void {
    const token = this.#token();
    if (token.kind !== "mark" || token.mark !== mark) {
      throw this.#fault(token, `expected ${mark} ${place}, found ${describe(token)}`);
    }
    this.#next += 1;
  }

  #count(token: Token, depth: number): void {
    this.#nodes += 1;
    if (this.#nodes > filterLimits.nodes) {
      throw this.#fault(token, `more than ${filterLimits.nodes} functions`);
    }
    if (depth > filterLimits.depth) {
      throw this.#fault(token, `more than ${filterLimits.depth} functions within one another`);
    }
  }

  #token(): Token {
    return this.#tokens[this.#next] ?? { kind: "end", offset: this.#text.length, length: 1 };
  }

  /** From an offset to the end of the last token that was taken. */
  #since(offset: number): Span {
    const last = this.#tokens[this.#next - 1];
    return { offset, length: last === undefined ? 0 : last.offset + last.length - offset };
  }

  #fault({ offset, length }: Span, reason: string): FilterError {
    return new FilterError(this.#text, { reason, offset, length });
  }
}

const allFunctions = `functions are ${functionNames.join(", ")}`;

const isWord = (name: string): boolean => name === "true" || name === "false" || name === "null";

function describe(token: Token): string {
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

/** What to write instead; names of other languages are the likeliest slip. */
function valueHint(token: Token): string {
  const allowed = "values are quoted texts, numbers, true, false, null, or a list of them in [ ]";
  if (token.kind !== "name") {
    return allowed;
  }
  const known: Readonly<Record<string, string>> = { True: "true", False: "false", None: "null" };
  const word = Object.hasOwn(known, token.name) ? known[token.name] : undefined;
  return `${allowed}; did you mean ${word ?? JSON.stringify(token.name.slice(0, 40))}?`;
}
