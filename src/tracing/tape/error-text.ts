import { truncated } from "./cut-text.ts";

/** Longest message or stack, in UTF-16 units: a message can hold a whole response. */
const textLimit = 65_536;
/** Values that are written of a thrown object that is not an Error. */
const valueLimit = 10_000;
/** Most causes that are written. */
const causeLimit = 8;

/**
 * What was thrown, as text: name, message and stack, then the causes. Never throws, whatever was
 * thrown: a property that can't be read is left out. `onCut` is called once where texts were cut.
 */
export function errorText(thrown: unknown, onCut: () => void): string {
  const clip = (text: string): string => {
    isCut ||= text.length > textLimit;
    return text.length > textLimit ? truncated(text, textLimit) : text;
  };
  let isCut = false;
  const parts = [describe(thrown, clip)];
  const seen = new Set([thrown]);
  let cause = read(thrown, "cause");
  while (cause !== undefined && cause !== null && !seen.has(cause) && parts.length <= causeLimit) {
    seen.add(cause);
    parts.push(describe(cause, clip));
    cause = read(cause, "cause");
  }
  if (isCut) {
    onCut();
  }
  return parts.join("\nCaused by: ");
}

function describe(thrown: unknown, clip: (text: string) => string): string {
  if (typeof thrown === "string") {
    // An error that is empty would read as none.
    return thrown === "" ? "[an empty text was thrown]" : clip(thrown);
  }
  const message = read(thrown, "message");
  if (typeof message !== "string") {
    return clip(toText(thrown));
  }
  const name = read(thrown, "name");
  const title = typeof name === "string" && name !== "" ? clip(name) : "Error";
  const head = message === "" ? title : `${title}: ${clip(message)}`;
  const stack = read(thrown, "stack");
  if (typeof stack !== "string" || stack === "") {
    return head;
  }
  // A stack keeps the message that the error was made with; the message may have changed since.
  return stack.includes(message) ? clip(stack) : `${head}\n${clip(stack)}`;
}

function read(thrown: unknown, key: string): unknown {
  if (typeof thrown !== "object" || thrown === null) {
    return undefined;
  }
  try {
    return Reflect.get(thrown, key);
  } catch {
    // Only this property is lost: the rest of the error is written.
    return undefined;
  }
}

function toText(thrown: unknown): string {
  try {
    let values = 0;
    const counted = (_key: string, value: unknown): unknown => {
      values += 1;
      if (values > valueLimit) {
        throw new RangeError("a graph can hold more values than there is time for");
      }
      return value;
    };
    const json: unknown = typeof thrown === "object" ? JSON.stringify(thrown, counted) : undefined;
    return typeof json === "string" ? json : String(thrown);
  } catch {
    // The run then states that the error could not be read.
    return "[a thrown value that can't be told]";
  }
}
