/** Maximum number of characters of a preview. */
const maxPreviewChars = 400;

/** Longer values are not parsed; their preview is the beginning of their JSON. */
const maxParsedBytes = 262_144;

/** The deepest level of nesting that is searched for a message. */
const maxNesting = 8;

/**
 * Members that contain the text of a message, or lead to it, in the order in which they are searched. They are those of
 * OpenAI, Anthropic, Gemini, LangChain and the AI SDK, and names that programs use for the result of a function.
 */
const messageMembers = [
  "choices",
  "candidates",
  "generations",
  "messages",
  "message",
  "kwargs",
  "data",
  "content",
  "parts",
  "text",
  "output_text",
  "output",
  "outputs",
  "answer",
  "response",
  "result",
  "completion",
  "contents",
  "prompt",
  "input",
  "question",
  "query",
] as const;

/**
 * Returns the beginning of the last message in the inputs or outputs of a run; for a value without a message, the
 * beginning of its JSON; for an absent or empty value, `undefined`.
 */
export function previewLastMessage(json: Buffer | undefined): string | undefined {
  if (json === undefined) {
    return undefined;
  }
  const head = json.subarray(0, maxPreviewChars * 4).toString("utf8");
  if (/^\s*(?:null|\{\s*\}|\[\s*\]|"")?\s*$/.test(head)) {
    return undefined;
  }
  const text =
    json.length > maxParsedBytes ? undefined : findText(parseJson(json.toString("utf8")), 0);
  return cutText(text ?? head);
}

/** Cuts a text without dividing a surrogate pair. */
const cutText = (text: string): string =>
  text.slice(0, maxPreviewChars).replace(/[\ud800-\udbff]$/, "");

function findText(value: unknown, depth: number): string | undefined {
  if (typeof value === "string") {
    return value.trim() === "" ? undefined : value;
  }
  if (depth > maxNesting || typeof value !== "object" || value === null) {
    return undefined;
  }
  if (Array.isArray(value)) {
    return findInList(value, depth);
  }
  const fields = value as Readonly<Record<string, unknown>>;
  for (const name of messageMembers) {
    const text = Object.hasOwn(fields, name) ? findText(fields[name], depth + 1) : undefined;
    if (text !== undefined) {
      return text;
    }
  }
  const [onlyValue, ...others] = Object.values(fields);
  return others.length === 0 ? findText(onlyValue, depth + 1) : undefined;
}

/** Maximum number of items at the end of a list that are searched. */
const maxSearchedItems = 20;

function findInList(items: readonly unknown[], depth: number): string | undefined {
  for (const item of items.slice(-maxSearchedItems).toReversed()) {
    const text = findText(item, depth + 1);
    if (text !== undefined) {
      return text;
    }
  }
  return undefined;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // Only damaged data is not JSON. The preview is then its beginning.
  }
}
