import { formatCompactJson } from "../text/json-text.ts";

/** Matches a text that YAML reads as a text without quotes. Other texts, such as `yes`, `1.5` or `- a`, are quoted. */
const plainText = /^[A-Za-z_/][\w/.@ -]*$/;
/** Words that YAML, without quotes, reads as booleans or as null. */
const reservedWord = /^(?:y|n|yes|no|on|off|true|false|null)$/i;
/** Characters that a literal block can't contain: YAML would reject them, or read them as line breaks. */
const forbiddenInBlock =
  /[^\n\t\u0020-\u007E\u00A0-\u2027\u202A-\uD7FF\uE000-\uFEFE\uFF00-\uFFFD]/u;

/** Values that are nested deeper are written as JSON, which is valid YAML. */
const maxDepth = 60;

/** Formats a JSON value as YAML 1.2. Texts of several lines are literal blocks, so that they can be read. */
export const formatYaml = (value: unknown): string =>
  `${(typeof value === "string" ? toItemLines("", value) : toLines(value)).join("\n")}\n`;

function toLines(value: unknown, depth = 0): readonly string[] {
  if (depth > maxDepth) {
    return [formatCompactJson(value) || "null"];
  }
  if (Array.isArray(value) && value.length > 0) {
    return value.flatMap((item) => toItemLines("- ", item, depth));
  }
  if (typeof value === "object" && value !== null && Object.keys(value).length > 0) {
    return Object.entries(value).flatMap(([key, member]) =>
      isNested(member)
        ? [`${toScalar(key)}:`, ...toLines(member, depth + 1).map(indent)]
        : toItemLines(`${toScalar(key)}: `, member, depth),
    );
  }
  return typeof value === "string" ? toTextLines(value) : [formatCompactJson(value) || "null"];
}

const isNested = (value: unknown): boolean =>
  typeof value === "object" && value !== null && Object.keys(value).length > 0;

/** Returns the lines of a value: the first line after a prefix, and the others indented below it. */
function toItemLines(prefix: string, value: unknown, depth = 0): readonly string[] {
  const [first = "", ...others] = toLines(value, depth + 1);
  return [prefix + first, ...others.map(indent)];
}

const indent = (line: string): string => (line === "" ? "" : `  ${line}`);

function toTextLines(text: string): readonly string[] {
  const isBlock = text.includes("\n") && !forbiddenInBlock.test(text) && !/^[\s]/.test(text);
  if (!isBlock) {
    return [toScalar(text)];
  }
  const [, body = "", end = ""] = /^([^]*?)(\n*)$/.exec(text) ?? [];
  // The indicator determines which line breaks YAML keeps at the end: none (`|-`), one (`|`) or all (`|+`).
  const indicator = ["|-", "|"][end.length] ?? "|+";
  return [indicator, ...`${body}${end.slice(1)}`.split("\n")];
}

const toScalar = (text: string): string =>
  plainText.test(text) && !reservedWord.test(text) && !text.endsWith(" ")
    ? text
    : JSON.stringify(text);
