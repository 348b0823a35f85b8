/** Longest text of one error, in UTF-16 units: a message can hold a whole response. */
const textLimit = 65_536;
/** Causes told, at most. */
const causeLimit = 8;

/**
 * What was thrown, as text: name, message and stack, then the causes. Never throws, whatever was
 * thrown: a property that can't be read is left out.
 */
export function errorText(thrown: unknown): string {
  const parts = [describe(thrown)];
  const seen = new Set([thrown]);
  let cause = read(thrown, "cause");
  while (cause !== undefined && cause !== null && !seen.has(cause) && parts.length <= causeLimit) {
    seen.add(cause);
    parts.push(describe(cause));
    cause = read(cause, "cause");
  }
  return parts.join("\nCaused by: ").slice(0, textLimit);
}

function describe(thrown: unknown): string {
  if (typeof thrown === "string") {
    // An error that is empty would read as none.
    return thrown === "" ? "[an empty text was thrown]" : thrown;
  }
  const message = read(thrown, "message");
  if (typeof message !== "string") {
    return toText(thrown);
  }
  const name = read(thrown, "name");
  const title = typeof name === "string" && name !== "" ? name : "Error";
  const head = message === "" ? title : `${title}: ${message}`;
  const stack = read(thrown, "stack");
  if (typeof stack !== "string" || stack === "") {
    return head;
  }
  // A stack keeps the message that the error was made with; the message may have changed since.
  return stack.includes(message) ? stack : `${head}\n${stack}`;
}

function read(thrown: unknown, key: string): unknown {
  if (typeof thrown !== "object" || thrown === null) {
    return undefined;
  }
  try {
    return Reflect.get(thrown, key);
  } catch {
    // Nothing is lost: the rest of the error is still told.
    return undefined;
  }
}

function toText(thrown: unknown): string {
  try {
    const json: unknown = typeof thrown === "object" ? JSON.stringify(thrown) : undefined;
    return typeof json === "string" ? json : String(thrown);
  } catch {
    // Nothing is lost: that it can't be told is what the run then says.
    return "[a thrown value that can't be told]";
  }
}
