import type { FilterField, FilterLanguage, ValueKind } from "millrace/model";
import { toFilterTokens } from "./filter-tokens.ts";
import type { FilterToken } from "./filter-tokens.ts";

/** A suggestion for the text at the cursor. */
export interface Suggestion {
  readonly label: string;
  readonly detail: string;
  /** The text that replaces the range of the {@link Completion}. */
  readonly insert: string;
}

/** A request for values that occur in runs, such as tags, to suggest them. */
export interface ValueRequest {
  readonly kind: ValueKind;
  /** For `metadata_value`, the key whose values are requested. */
  readonly key?: string;
  /** Only values that begin with this text are requested. */
  readonly prefix: string;
  /** The text to insert before and after a selected value. */
  readonly before: string;
  readonly after: string;
}

/** The suggestions at a cursor position, and the range that they replace. */
export interface Completion {
  readonly from: number;
  readonly to: number;
  readonly suggestions: readonly Suggestion[];
  /** The values to request from the server as further suggestions. */
  readonly valueRequest?: ValueRequest;
}

/** The end of a field name that stands for all paths below it, such as `metadata.<path>`. */
const anyPath = ".<path>";

/** A function call whose argument list contains the cursor. */
interface OpenCall {
  readonly name: string;
  /** The index of the argument at the cursor, from 0. */
  argument: number;
  /** The first argument, if it is a name. */
  field: string | undefined;
  /** The key of an earlier `eq(metadata_key, …)` in the same `and`: `metadata_value` conditions are about this key. */
  key: string | undefined;
}

/** Suggests completions at the cursor. Of the text after the cursor, only the rest of the current token is used. */
export function completeFilter(
  filter: string,
  cursor: number,
  language: FilterLanguage,
): Completion {
  const tokens = toFilterTokens(filter);
  const at = tokens.findIndex(
    ({ kind, from, to, isClosed }) =>
      from < cursor &&
      (kind === "text" ? isInText({ from, to, isClosed }, cursor) : to >= cursor) &&
      kind !== "mark",
  );
  const current = at === -1 ? undefined : tokens[at];
  const before = tokens.filter(({ to }) => to <= (current?.from ?? cursor));
  const frame = findOpenCall(before);
  const from = current?.from ?? cursor;
  const span = { from, to: current?.to ?? cursor, typed: filter.slice(from, cursor) };
  if (frame === undefined && before.length > 0) {
    // The filter is complete: nothing can be appended, a further condition would need an enclosing `and`.
    return { from, to: span.to, suggestions: [] };
  }
  if (frame === undefined || isCombination(language, frame.name)) {
    return completeFunction(span, language);
  }
  if (frame.argument === 0) {
    return completeField(span, language, frame.name);
  }
  return completeValue(span, findField(language, frame.field ?? ""), frame);
}

const isInText = (
  { from, to, isClosed }: { from: number; to: number; isClosed: boolean | undefined },
  cursor: number,
): boolean => cursor > from && (isClosed === true ? cursor < to : cursor <= to);

/** The innermost function call that is not closed after these tokens. */
function findOpenCall(tokens: readonly FilterToken[]): OpenCall | undefined {
  const frames: OpenCall[] = [];
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
      // Outside of all function calls there are no arguments.
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

/** The range that a suggestion replaces. */
interface Span {
  readonly from: number;
  readonly to: number;
  /** The text from `from` to the cursor. */
  readonly typed: string;
}

const startsWith = (text: string, typed: string): boolean =>
  text.toLowerCase().startsWith(typed.toLowerCase());

/** Suggests functions, and fields that are inserted together with their most common function. */
function completeFunction({ from, to, typed }: Span, language: FilterLanguage): Completion {
  const functions = language.functions
    .filter(({ name }) => startsWith(name, typed))
    .map(({ name, form, doc }) => ({ label: form, detail: doc, insert: `${name}(` }));
  const fields = language.fields
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

function completeField(span: Span, language: FilterLanguage, comparator: string): Completion {
  const { from, to, typed } = span;
  const path = /^metadata\.(.*)$/s.exec(typed);
  const isExists = comparator === "exists";
  const suggestions = language.fields
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
        valueRequest: {
          kind: "metadata_key",
          prefix: path[1] ?? "",
          before: "metadata.",
          after: isExists ? ")" : ", ",
        },
      };
}

function completeValue(
  { from, to, typed }: Span,
  field: FilterField | undefined,
  frame: OpenCall,
): Completion {
  if (field === undefined) {
    return { from, to, suggestions: [] };
  }
  const after = frame.name === "in" ? "" : ")";
  const unquoted = typed.replace(/^["']/, "");
  const opening = frame.name === "in" && frame.argument === 1 && typed === "" ? "[" : "";
  const fixedValues = [
    ...field.choices.map((choice) => JSON.stringify(choice)),
    ...(field.type === "boolean" ? ["true", "false"] : []),
    ...(field.isNullable && (frame.name === "eq" || frame.name === "neq") ? ["null"] : []),
  ];
  const suggestions = fixedValues
    .filter((value) => startsWith(value.replaceAll('"', ""), unquoted))
    .map((value) => ({ label: value, detail: field.doc, insert: `${opening}${value}${after}` }));
  const request = toValueRequest(field, frame);
  return request === undefined
    ? { from, to, suggestions }
    : {
        from,
        to,
        suggestions,
        valueRequest: { ...request, prefix: unquoted, before: opening, after },
      };
}

/** The values to request for a field; `undefined` for a metadata value whose key is unknown. */
function toValueRequest(
  { words }: FilterField,
  { field = "", key }: OpenCall,
): Pick<ValueRequest, "kind" | "key"> | undefined {
  if (words !== "metadata_value") {
    return words === null ? undefined : { kind: words };
  }
  const [, path] = /^metadata\.([\w-]+)$/.exec(field) ?? [];
  const valueKey = path ?? (field.includes(".") ? undefined : key);
  return valueKey === undefined ? undefined : { kind: words, key: valueKey };
}

const isCombination = ({ functions }: FilterLanguage, name: string): boolean =>
  functions.some((candidate) => candidate.name === name && candidate.combines);

function findField({ fields }: FilterLanguage, name: string): FilterField | undefined {
  const [head = ""] = name.split(".", 1);
  return (
    fields.find((field) => field.name === name) ??
    fields.find((field) => name !== head && field.name === `${head}${anyPath}`)
  );
}

/** Converts the server's values to suggestions: values are quoted; keys that can't be written as a path are left out. */
export function toValueSuggestions(
  values: readonly string[],
  request: ValueRequest,
): readonly Suggestion[] {
  const isPath = request.before.startsWith("metadata.");
  return values
    .filter((value) => !isPath || /^[\w-]+$/.test(value))
    .map((value) => ({
      label: value,
      detail: "",
      insert: `${request.before}${isPath ? value : JSON.stringify(value)}${request.after}`,
    }));
}

/** Inserts a suggestion into the filter. Returns the new filter and the new cursor position. */
export function applySuggestion(
  filter: string,
  { from, to }: Pick<Completion, "from" | "to">,
  { insert }: Suggestion,
): { readonly filter: string; readonly cursor: number } {
  const tail = filter.slice(to);
  // A closing parenthesis that already follows is not inserted again.
  const inserted = insert.endsWith(")") && tail.startsWith(")") ? insert.slice(0, -1) : insert;
  return { filter: `${filter.slice(0, from)}${inserted}${tail}`, cursor: from + inserted.length };
}
