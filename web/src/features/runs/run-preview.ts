import { removeMarkdownMarks } from "../../components/markdown/markdown-marks.ts";

/** Members that a preview leaves out, because their values say nothing about the content: roles, types and ids. */
const omittedKeys: ReadonlySet<string> = new Set([
  "role",
  "type",
  "id",
  "model",
  "tool_call_id",
  "finish_reason",
  "object",
  "index",
  "lc",
]);
/** Members whose values are shown without the name of the member. */
const unnamedKeys: ReadonlySet<string> = new Set([
  "input",
  "inputs",
  "output",
  "outputs",
  "question",
  "query",
  "prompt",
  "text",
  "content",
  "message",
  "messages",
  "answer",
  "result",
]);
/** Roles whose messages are the same in every call. */
const constantRoles: ReadonlySet<string> = new Set(["system", "developer"]);
const maxChars = 300;

/** A text, a number, a literal or the name of a member, in JSON that may be cut off at its end. */
const tokenPattern = /"((?:[^"\\]|\\.)*)(?:"(\s*:)?|\\?$)|(-?\d[\d.eE+-]*|true|false)/g;

/**
 * Shortens the JSON of inputs or outputs to a preview. The JSON may be cut off. A preview of messages contains their
 * texts, without the system prompt. A preview of an object contains its values, with the names of members that are
 * needed to understand them. Markdown marks are removed from texts.
 */
export function toPreviewText(json: string | undefined): string {
  if (json === undefined) {
    return "";
  }
  const parts: string[] = [];
  let key = "";
  let role = "";
  for (const [, text, colon, literal] of json.matchAll(tokenPattern)) {
    const value = literal ?? unescapeText(text ?? "");
    if (colon !== undefined) {
      key = value;
    } else if (key === "role") {
      role = value;
    } else if (!omittedKeys.has(key) && !constantRoles.has(role) && value.trim() !== "") {
      const shownText = removeMarkdownMarks(value.slice(0, maxChars));
      parts.push(key === "" || unnamedKeys.has(key) ? shownText : `${key}: ${shownText}`);
    }
    if (parts.length > 8) {
      break;
    }
  }
  const preview = parts.join(" · ").replaceAll(/\s+/g, " ").trim().slice(0, maxChars);
  // A text that is not JSON, or JSON without values, is shown unchanged.
  return preview === "" && json !== "{}" && json !== "[]" ? json.slice(0, maxChars) : preview;
}

function unescapeText(text: string): string {
  try {
    return String(JSON.parse(`"${text}"`));
  } catch {
    return text; // An escape was cut off.
  }
}
