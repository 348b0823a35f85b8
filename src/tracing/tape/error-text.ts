import { truncateText } from "./cut-text.ts";

/** Longest message or stack that is recorded, in UTF-16 units. An error's message can contain a whole response. */
const textLimit = 65_536;
/**
 * Maximum number of values in a thrown object that is not an Error. A larger object is replaced by a text that says so.
 */
const valueLimit = 10_000;
/** Maximum number of nested causes that are recorded. */
const causeLimit = 8;
/** Maximum number of errors of one AggregateError that are recorded. */
const reasonLimit = 8;
/** Maximum number of errors in one text: an AggregateError may contain further ones at any depth. */
const errorLimit = 64;

/**
 * Converts a thrown value to text: name, message and stack, then its causes and, for an AggregateError, its errors.
 * Never throws: a property that can't be read is left out. `onCut` is called once if any text was cut.
 */
export function formatError(thrown: unknown, onCut: () => void): string {
  const formatter = new ErrorFormatter();
  const text = formatter.formatChain(thrown);
  if (formatter.isCut) {
    onCut();
  }
  return text;
}

/** Formats an error and those that it refers to, each once. */
class ErrorFormatter {
  isCut = false;
  readonly #seen = new Set<unknown>();

  formatChain(thrown: unknown): string {
    const parts = [this.#formatWithReasons(thrown)];
    let cause = readProperty(thrown, "cause");
    while (
      cause !== undefined &&
      cause !== null &&
      this.#canFormat(cause) &&
      parts.length <= causeLimit
    ) {
      parts.push(this.#formatWithReasons(cause));
      cause = readProperty(cause, "cause");
    }
    return parts.join("\nCaused by: ");
  }

  #canFormat(error: unknown): boolean {
    return !this.#seen.has(error) && this.#seen.size < errorLimit;
  }

  #formatWithReasons(thrown: unknown): string {
    this.#seen.add(thrown);
    const text = formatThrown(thrown, (part) => this.#truncate(part));
    const errors = readProperty(thrown, "errors");
    if (readProperty(thrown, "name") !== "AggregateError" || !Array.isArray(errors)) {
      return text;
    }
    const reasons = errors
      .slice(0, reasonLimit)
      .map((error: unknown) =>
        this.#canFormat(error) ? `\nReason: ${this.formatChain(error)}` : "",
      );
    const more =
      errors.length > reasonLimit ? `\nand ${errors.length - reasonLimit} more reasons` : "";
    return text + reasons.join("") + more;
  }

  #truncate(text: string): string {
    this.isCut ||= text.length > textLimit;
    return text.length > textLimit ? truncateText(text, textLimit) : text;
  }
}

function formatThrown(thrown: unknown, truncate: (text: string) => string): string {
  if (typeof thrown === "string") {
    // An empty error text would look like a run without an error.
    return thrown === "" ? "[an empty string was thrown]" : truncate(thrown);
  }
  const message = readProperty(thrown, "message");
  if (typeof message !== "string") {
    return truncate(toText(thrown));
  }
  const name = readProperty(thrown, "name");
  const title = typeof name === "string" && name !== "" ? truncate(name) : "Error";
  const head = message === "" ? title : `${title}: ${truncate(message)}`;
  const stack = readProperty(thrown, "stack");
  if (typeof stack !== "string" || stack === "") {
    return head;
  }
  // A stack contains the message that the error was created with. The message may have been changed since then.
  return stack.includes(message) ? truncate(stack) : `${head}\n${truncate(stack)}`;
}

function readProperty(thrown: unknown, key: string): unknown {
  if (typeof thrown !== "object" || thrown === null) {
    return undefined;
  }
  try {
    return Reflect.get(thrown, key);
  } catch {
    // Only this property is lost. The rest of the error is recorded.
    return undefined;
  }
}

function toText(thrown: unknown): string {
  try {
    let valueCount = 0;
    const countValue = (_key: string, value: unknown): unknown => {
      valueCount += 1;
      if (valueCount > valueLimit) {
        throw new RangeError("the thrown object has too many values");
      }
      return value;
    };
    const json: unknown =
      typeof thrown === "object" ? JSON.stringify(thrown, countValue) : undefined;
    return typeof json === "string" ? json : String(thrown);
  } catch {
    // The object can't be converted to text, or it is too large.
    return "[a thrown value that can't be converted to text]";
  }
}
