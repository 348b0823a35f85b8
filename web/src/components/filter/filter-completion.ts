import type { FilterField, FilterLanguage, ValueKind } from "millrace/model";
import { toPlainValue } from "./plain-filter.ts";
import { toFilterTokens } from "./filter-tokens.ts";
import type { FilterToken } from "./filter-tokens.ts";

/** A suggestion for the text at the cursor. */
export interface Suggestion {
  readonly label: string;
  readonly detail: string;
  /** The text that replaces the range of the {@link Completion}. */
  readonly insertedText: string;
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
  /** Whether a value is inserted without quotes where they are not needed, as after an operator. */
  readonly isPlain?: boolean;
}

/** The suggestions at a cursor position, and the range that they replace. */
export interface Completion {
  readonly from: number;
  readonly to: number;
  readonly suggestions: readonly Suggestion[];
  /** The values to request from the server as further suggestions. */
  readonly valueRequest?: ValueRequest;
}

/** The end of a field name such as `metadata.<path>`, in which `<path>` is a placeholder for any path. */
const pathPlaceholder = ".<path>";

/** A function call whose argument list contains the cursor. */
interface OpenCall {
  readonly name: string;
  /** The index of the argument at the cursor, from 0. */
  argumentIndex: number;
  /** The first argument, if it is a name. */
  field: string | undefined;
  /** The key of an earlier `eq(metadata_key, …)` in the same `and`, which `metadata_value` conditions are about. */
  key: string | undefined;
  /** Whether the condition is written with an operator, so that nothing follows its value. */
  isInfix?: boolean;
}

/** Suggests completions at the cursor. Tokens after the cursor are ignored. */
export function completeFilter(
  filter: string,
  cursor: number,
  language: FilterLanguage,
): Completion {
  const tokens = toFilterTokens(filter);
  const tokenIndex = tokens.findIndex(
    ({ kind, text, from, to, isClosed }) =>
      from < cursor &&
      (kind === "text" ? isInText({ from, to, isClosed }, cursor) : to >= cursor) &&
      kind !== "mark" &&
      !isOperatorToken(kind, text),
  );
  const currentToken = tokenIndex === -1 ? undefined : tokens[tokenIndex];
  const tokensBefore = tokens.filter(({ to }) => to <= (currentToken?.from ?? cursor));
  const openCall = findOpenCall(tokensBefore);
  const from = currentToken?.from ?? cursor;
  const range = { from, to: currentToken?.to ?? cursor, typed: filter.slice(from, cursor) };
  if (openCall === undefined) {
    return (
      completeOperand(range, tokensBefore, language) ??
      completeCondition(range, tokensBefore, language)
    );
  }
  if (isCombination(language, openCall.name)) {
    return completeFunction(range, language);
  }
  if (openCall.argumentIndex === 0) {
    return completeField(range, language, openCall.name);
  }
  return completeValue(range, findField(language, openCall.field ?? ""), openCall);
}

const isInText = (
  { from, to, isClosed }: { from: number; to: number; isClosed: boolean | undefined },
  cursor: number,
): boolean => cursor > from && (isClosed === true ? cursor < to : cursor <= to);

/** Finds the innermost function call that is not closed after these tokens. */
function findOpenCall(tokens: readonly FilterToken[]): OpenCall | undefined {
  const openCalls: OpenCall[] = [];
  tokens.forEach((token, index) => {
    const openCall = openCalls.at(-1);
    if (token.kind === "mark" && token.text === "(") {
      const name = tokens[index - 1]?.text ?? "";
      openCalls.push({ name, argumentIndex: 0, field: undefined, key: undefined });
    } else if (token.kind === "mark" && token.text === ")") {
      const closedCall = openCalls.pop();
      const enclosingCall = openCalls.at(-1);
      if (enclosingCall !== undefined && closedCall?.key !== undefined) {
        enclosingCall.key = closedCall.key;
      }
    } else if (openCall === undefined) {
      // Ignore tokens outside of all function calls, because they are not arguments.
    } else if (token.kind === "mark" && token.text === ",") {
      openCall.argumentIndex += 1;
    } else if (token.kind === "name" && openCall.argumentIndex === 0) {
      openCall.field = token.text;
    } else if (token.kind === "text" && openCall.field === "metadata_key") {
      openCall.key = token.text;
    }
  });
  const [innermostCall, enclosingCall] = [openCalls.at(-1), openCalls.at(-2)];
  return innermostCall && { ...innermostCall, key: innermostCall.key ?? enclosingCall?.key };
}

/** The range that a suggestion replaces. */
interface TokenRange {
  readonly from: number;
  readonly to: number;
  /** The text from `from` to the cursor. */
  readonly typed: string;
}

const startsWithIgnoringCase = (text: string, typed: string): boolean =>
  text.toLowerCase().startsWith(typed.toLowerCase());

/** The fields that people filter by most, which are suggested first. */
const commonFields: readonly string[] = [
  "status",
  "model",
  "name",
  "latency",
  "first_token",
  "total_cost",
  "total_tokens",
  "tags",
  "error",
  "start_time",
  "inputs",
  "outputs",
];

/** The position of a field among the suggestions. Fields that are not common follow in their own order. */
const rankField = ({ name }: FilterField): number =>
  commonFields.includes(name) ? commonFields.indexOf(name) : commonFields.length;

/** A field as the beginning of a condition, such as `latency > `; `undefined` if only functions can test the field. */
function toConditionStart({ name, type, comparators }: FilterField): string | undefined {
  if (name.endsWith(pathPlaceholder)) {
    return name.slice(0, -pathPlaceholder.length + 1);
  }
  if ((type === "duration" || type === "number") && comparators.includes("gt")) {
    return `${name} > `;
  }
  if (type === "time" && comparators.includes("gte")) {
    return `${name} >= `;
  }
  if (type === "texts" && comparators.includes("has")) {
    return `${name} has "`;
  }
  if (comparators.includes("eq") && type !== "error") {
    return `${name} = `;
  }
  return comparators.includes("search") ? `${name} contains "` : undefined;
}

/**
 * Suggests how a condition outside of functions begins: with a field and an operator, or with a word such as `not`.
 * After any other text it suggests nothing until the user types, because the next word may be a search term.
 */
function completeCondition(
  range: TokenRange,
  tokensBefore: readonly FilterToken[],
  language: FilterLanguage,
): Completion {
  const { from, to, typed } = range;
  if (tokensBefore.length > 0 && typed === "") {
    return { from, to, suggestions: [] };
  }
  const metadataMatch = /^metadata\.(.*)$/s.exec(typed);
  if (metadataMatch !== null) {
    const prefix = metadataMatch[1] ?? "";
    const valueRequest = {
      kind: "metadata_key",
      prefix,
      before: "metadata.",
      after: " = ",
    } as const;
    return { from, to, suggestions: [], valueRequest };
  }
  const conditions = language.fields
    .filter(({ name }) => startsWithIgnoringCase(name, typed))
    .toSorted((left, right) => rankField(left) - rankField(right))
    .flatMap((field) => {
      const start = toConditionStart(field);
      return start === undefined
        ? []
        : [
            {
              label: `${start.replace(/"$/, "").trimEnd()} …`,
              detail: field.doc,
              insertedText: start,
            },
          ];
    });
  const words = language.functions
    .filter(({ name }) => typed !== "" && startsWithIgnoringCase(name, typed))
    .flatMap(({ name, form, doc, combines }) => {
      if (combines) {
        return [{ label: `${name} …`, detail: doc, insertedText: `${name} ` }];
      }
      // Of the other functions, suggest only `exists`: the rest can be written with an operator.
      return name === "exists" ? [{ label: form, detail: doc, insertedText: "exists(" }] : [];
    });
  return { from, to, suggestions: [...conditions, ...words] };
}

const isOperatorToken = (kind: FilterToken["kind"], text: string): boolean =>
  kind === "other" && /^[<>=!]$/.test(text);

/** Words that are operators before a quoted text. */
const wordOperators: ReadonlySet<string> = new Set(["contains", "has", "like"]);

/** Suggests values after an operator, as in `name = s`; `undefined` if there is no operator before the cursor. */
function completeOperand(
  range: TokenRange,
  tokensBefore: readonly FilterToken[],
  language: FilterLanguage,
): Completion | undefined {
  const operatorStart =
    tokensBefore.findLastIndex(({ kind, text }) => !isOperatorToken(kind, text)) + 1;
  const hasSymbol = operatorStart < tokensBefore.length;
  const word = tokensBefore.at(-1);
  const isWord =
    !hasSymbol &&
    word?.kind === "name" &&
    wordOperators.has(word.text) &&
    /^["']/.test(range.typed);
  const fieldToken = hasSymbol ? tokensBefore[operatorStart - 1] : tokensBefore.at(-2);
  if ((!hasSymbol && !isWord) || fieldToken?.kind !== "name") {
    return undefined;
  }
  const name = isWord ? word.text : "eq";
  return completeValue(range, findField(language, fieldToken.text), {
    name,
    argumentIndex: 1,
    field: fieldToken.text,
    key: undefined,
    isInfix: true,
  });
}

/** Suggests functions, and fields that are inserted together with their most common function. */
function completeFunction({ from, to, typed }: TokenRange, language: FilterLanguage): Completion {
  const functions = language.functions
    .filter(({ name }) => startsWithIgnoringCase(name, typed))
    .map(({ name, form, doc }) => ({ label: form, detail: doc, insertedText: `${name}(` }));
  const fields = language.fields
    .filter(({ name }) => typed !== "" && startsWithIgnoringCase(name, typed))
    .map(({ name, comparators, doc }) => {
      const comparator = comparators[0] ?? "eq";
      const isPath = name.endsWith(pathPlaceholder);
      const field = isPath ? name.slice(0, -pathPlaceholder.length + 1) : name;
      return {
        label: `${comparator}(${field}…`,
        detail: doc,
        insertedText: `${comparator}(${field}${isPath ? "" : ", "}`,
      };
    });
  return { from, to, suggestions: [...fields, ...functions] };
}

function completeField(
  range: TokenRange,
  language: FilterLanguage,
  comparator: string,
): Completion {
  const { from, to, typed } = range;
  const metadataMatch = /^metadata\.(.*)$/s.exec(typed);
  const isExistsCondition = comparator === "exists";
  const suggestions = language.fields
    .filter(
      (field) =>
        field.comparators.includes(comparator) && startsWithIgnoringCase(field.name, typed),
    )
    .map(({ name, doc, values }) => {
      const isPath = name.endsWith(pathPlaceholder);
      return {
        label: isPath ? `${name.slice(0, -pathPlaceholder.length)}.…` : name,
        detail: `${doc} ${values}.`,
        insertedText: isPath
          ? name.slice(0, -pathPlaceholder.length + 1)
          : `${name}${isExistsCondition ? ")" : ", "}`,
      };
    });
  return metadataMatch === null
    ? { from, to, suggestions }
    : {
        from,
        to,
        suggestions,
        valueRequest: {
          kind: "metadata_key",
          prefix: metadataMatch[1] ?? "",
          before: "metadata.",
          after: isExistsCondition ? ")" : ", ",
        },
      };
}

function completeValue(
  { from, to, typed }: TokenRange,
  field: FilterField | undefined,
  openCall: OpenCall,
): Completion {
  if (field === undefined) {
    return { from, to, suggestions: [] };
  }
  const isInfix = openCall.isInfix === true;
  const isPlain = isInfix && !wordOperators.has(openCall.name) && !/^["']/.test(typed);
  const after = openCall.name === "in" || isInfix ? "" : ")";
  const unquoted = typed.replace(/^["']/, "");
  const openingBracket =
    openCall.name === "in" && openCall.argumentIndex === 1 && typed === "" ? "[" : "";
  const fixedValues = [
    ...field.choices.map((choice) => (isPlain ? toPlainValue(choice) : JSON.stringify(choice))),
    ...(field.type === "boolean" ? ["true", "false"] : []),
    ...(field.isNullable && equalityNames.has(openCall.name) ? ["null"] : []),
  ];
  const suggestions = fixedValues
    .filter((value) => startsWithIgnoringCase(value.replaceAll('"', ""), unquoted))
    .map((value) => ({
      label: value,
      detail: "",
      insertedText: `${openingBracket}${value}${after}`,
    }));
  const request = toValueRequest(field, openCall);
  return request === undefined
    ? { from, to, suggestions }
    : {
        from,
        to,
        suggestions,
        valueRequest: {
          ...request,
          prefix: unquoted,
          before: openingBracket,
          after,
          ...(isPlain && { isPlain }),
        },
      };
}

const equalityNames: ReadonlySet<string> = new Set(["eq", "neq"]);

/** The fields that contain names of models. Their values are suggested from the metadata key `ls_model_name`. */
const modelFields: ReadonlySet<string> = new Set(["model", "trace_model"]);

/** The values to request for a field; `undefined` for a metadata value whose key is unknown. */
function toValueRequest(
  { words }: FilterField,
  { field = "", key }: OpenCall,
): Pick<ValueRequest, "kind" | "key"> | undefined {
  if (modelFields.has(field)) {
    return { kind: "metadata_value", key: "ls_model_name" };
  }
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
  const [firstSegment = ""] = name.split(".", 1);
  return (
    fields.find((field) => field.name === name) ??
    fields.find(
      (field) => name !== firstSegment && field.name === `${firstSegment}${pathPlaceholder}`,
    )
  );
}

/**
 * Converts the server's values to suggestions: values are quoted; keys that can't be written as a path are left out.
 */
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
      insertedText: `${request.before}${writeValue(value, { isPath, ...request })}${request.after}`,
    }));
}

function writeValue(
  value: string,
  { isPath, isPlain = false }: { readonly isPath: boolean; readonly isPlain?: boolean },
): string {
  if (isPath) {
    return value;
  }
  return isPlain ? toPlainValue(value) : JSON.stringify(value);
}

/** Inserts a suggestion into the filter. Returns the new filter and the new cursor position. */
export function applySuggestion(
  filter: string,
  { from, to }: Pick<Completion, "from" | "to">,
  { insertedText }: Suggestion,
): { readonly filter: string; readonly cursor: number } {
  const textAfter = filter.slice(to);
  // A closing parenthesis that already follows is not inserted again.
  const newText =
    insertedText.endsWith(")") && textAfter.startsWith(")")
      ? insertedText.slice(0, -1)
      : insertedText;
  return {
    filter: `${filter.slice(0, from)}${newText}${textAfter}`,
    cursor: from + newText.length,
  };
}
