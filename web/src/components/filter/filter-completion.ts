import type { FieldWord, FilterWords, WordKind } from "millrace/model";
import { toFilterTokens } from "./filter-tokens.ts";
import type { FilterToken } from "./filter-tokens.ts";

/** One way to go on. */
export interface Suggestion {
  readonly label: string;
  readonly detail: string;
  /** What is put in the place of `from` to `to`. */
  readonly insert: string;
}

/** Suggestions that come from the server: the values of runs. */
export interface WantedWords {
  readonly kind: WordKind;
  /** Of `metadata_value`: whose value. */
  readonly key?: string;
  readonly prefix: string;
  /** What stands before and behind each of them. */
  readonly before: string;
  readonly after: string;
}

/** How a filter can go on at a place. */
export interface Completion {
  readonly from: number;
  readonly to: number;
  readonly suggestions: readonly Suggestion[];
  readonly wants?: WantedWords;
}

const anyPath = ".<path>";

/** A function whose arguments are being written. */
interface Frame {
  readonly name: string;
  /** Which argument, from 0. */
  argument: number;
  /** The first argument, where it is a name. */
  field: string | undefined;
  /** The key that an `and` has asked for, which its values are of. */
  key: string | undefined;
}

/** How the filter can go on where the cursor stands. Looks at nothing behind it but the word it is in. */
export function completeFilter(filter: string, cursor: number, words: FilterWords): Completion {
  const tokens = toFilterTokens(filter);
  const at = tokens.findIndex(
    ({ kind, from, to, isClosed }) =>
      from < cursor &&
      (kind === "text" ? isInText({ from, to, isClosed }, cursor) : to >= cursor) &&
      kind !== "mark",
  );
  const current = at === -1 ? undefined : tokens[at];
  const before = tokens.filter(({ to }) => to <= (current?.from ?? cursor));
  const frame = frameAt(before);
  const from = current?.from ?? cursor;
  const span = { from, to: current?.to ?? cursor, typed: filter.slice(from, cursor) };
  if (frame === undefined && before.length > 0) {
    // It is complete: what could follow would have to stand around it.
    return { from, to: span.to, suggestions: [] };
  }
  if (frame === undefined || isCombination(words, frame.name)) {
    return completeFunction(span, words);
  }
  if (frame.argument === 0) {
    return completeField(span, words, frame.name);
  }
  return completeValue(span, findField(words, frame.field ?? ""), frame);
}

const isInText = (
  { from, to, isClosed }: { from: number; to: number; isClosed: boolean | undefined },
  cursor: number,
): boolean => cursor > from && (isClosed === true ? cursor < to : cursor <= to);

/** The innermost function that is open behind these tokens. */
function frameAt(tokens: readonly FilterToken[]): Frame | undefined {
  const frames: Frame[] = [];
  tokens.forEach((token, index) => {
    const frame = frames.at(-1);
    if (token.kind === "mark" && token.text === "(") {
      const name = tokens[index - 1]?.text ?? "";
      frames.push({ name, argument: 0, field: undefined, key: undefined });
    } else if (token.kind === "mark" && token.text === ")") {
      const closed = frames.pop();
      const above = frames.at(-1);
      if (above !== undefined && closed?.key !== undefined) {
        above.key = closed.key;
      }
    } else if (frame === undefined) {
      // Outside of all functions nothing is an argument.
    } else if (token.kind === "mark" && token.text === ",") {
      frame.argument += 1;
    } else if (token.kind === "name" && frame.argument === 0) {
      frame.field = token.text;
    } else if (token.kind === "text" && frame.field === "metadata_key") {
      frame.key = token.text;
    }
  });
  const [last, above] = [frames.at(-1), frames.at(-2)];
  return last && { ...last, key: last.key ?? above?.key };
}

interface Span {
  readonly from: number;
  readonly to: number;
  /** What stands from there to the cursor. */
  readonly typed: string;
}

const startsWith = (text: string, typed: string): boolean =>
  text.toLowerCase().startsWith(typed.toLowerCase());

/** Functions; and the fields themselves, which the usual function is written around. */
function completeFunction({ from, to, typed }: Span, words: FilterWords): Completion {
  const functions = words.functions
    .filter(({ name }) => startsWith(name, typed))
    .map(({ name, form, doc }) => ({ label: form, detail: doc, insert: `${name}(` }));
  const fields = words.fields
    .filter(({ name }) => typed !== "" && startsWith(name, typed))
    .map(({ name, comparators, doc }) => {
      const comparator = comparators[0] ?? "eq";
      const isPath = name.endsWith(anyPath);
      const field = isPath ? name.slice(0, -anyPath.length + 1) : name;
      return {
        label: `${comparator}(${field}…`,
        detail: doc,
        insert: `${comparator}(${field}${isPath ? "" : ", "}`,
      };
    });
  return { from, to, suggestions: [...fields, ...functions] };
}

function completeField(span: Span, words: FilterWords, comparator: string): Completion {
  const { from, to, typed } = span;
  const path = /^metadata\.(.*)$/s.exec(typed);
  const isExists = comparator === "exists";
  const suggestions = words.fields
    .filter((field) => field.comparators.includes(comparator) && startsWith(field.name, typed))
    .map(({ name, doc, values }) => {
      const isPath = name.endsWith(anyPath);
      return {
        label: isPath ? `${name.slice(0, -anyPath.length)}.…` : name,
        detail: `${doc} ${values}.`,
        insert: isPath ? name.slice(0, -anyPath.length + 1) : `${name}, `,
      };
    });
  return path === null
    ? { from, to, suggestions }
    : {
        from,
        to,
        suggestions,
        wants: {
          kind: "metadata_key",
          prefix: path[1] ?? "",
          before: "metadata.",
          after: isExists ? ")" : ", ",
        },
      };
}

function completeValue(
  { from, to, typed }: Span,
  field: FieldWord | undefined,
  frame: Frame,
): Completion {
  if (field === undefined) {
    return { from, to, suggestions: [] };
  }
  const after = frame.name === "in" ? "" : ")";
  const bare = typed.replace(/^["']/, "");
  const open = frame.name === "in" && frame.argument === 1 && typed === "" ? "[" : "";
  const fixed = [
    ...field.choices.map((choice) => JSON.stringify(choice)),
    ...(field.type === "boolean" ? ["true", "false"] : []),
    ...(field.isNullable && (frame.name === "eq" || frame.name === "neq") ? ["null"] : []),
  ];
  const suggestions = fixed
    .filter((value) => startsWith(value.replaceAll('"', ""), bare))
    .map((value) => ({ label: value, detail: field.doc, insert: `${open}${value}${after}` }));
  const wanted = wantedOf(field, frame);
  return wanted === undefined
    ? { from, to, suggestions }
    : {
        from,
        to,
        suggestions,
        wants: { ...wanted, prefix: bare, before: open, after },
      };
}

/** Of a value of metadata whose key is not known yet, none. */
function wantedOf(
  { words }: FieldWord,
  { field = "", key }: Frame,
): Pick<WantedWords, "kind" | "key"> | undefined {
  if (words !== "metadata_value") {
    return words === null ? undefined : { kind: words };
  }
  const [, path] = /^metadata\.([\w-]+)$/.exec(field) ?? [];
  const whose = path ?? (field.includes(".") ? undefined : key);
  return whose === undefined ? undefined : { kind: words, key: whose };
}

const isCombination = ({ functions }: FilterWords, name: string): boolean =>
  functions.some((one) => one.name === name && one.combines);

function findField({ fields }: FilterWords, name: string): FieldWord | undefined {
  const [head = ""] = name.split(".", 1);
  return (
    fields.find((field) => field.name === name) ??
    fields.find((field) => name !== head && field.name === `${head}${anyPath}`)
  );
}

/** The server's words as suggestions: keys as they are, where they can be a path, values as texts. */
export function toWordSuggestions(
  words: readonly string[],
  wants: WantedWords,
): readonly Suggestion[] {
  const isPath = wants.before.startsWith("metadata.");
  return words
    .filter((word) => !isPath || /^[\w-]+$/.test(word))
    .map((word) => ({
      label: word,
      detail: "",
      insert: `${wants.before}${isPath ? word : JSON.stringify(word)}${wants.after}`,
    }));
}

/** The filter with a suggestion taken, and where the cursor stands then. */
export function applySuggestion(
  filter: string,
  { from, to }: Pick<Completion, "from" | "to">,
  { insert }: Suggestion,
): { readonly filter: string; readonly cursor: number } {
  const rest = filter.slice(to);
  // What is there already is not written twice.
  const shared = insert.endsWith(")") && rest.startsWith(")") ? insert.slice(0, -1) : insert;
  return { filter: `${filter.slice(0, from)}${shared}${rest}`, cursor: from + shared.length };
}
