import type { AttributeBag } from "./attribute-bag.ts";
import type { Span, SpanEvent } from "./span.ts";

/**
 * Returns the error of a span that has the status ERROR, or has recorded an exception and set no status; `undefined`
 * for other spans. The status OK means that the exceptions were handled, for example by trying again. If the span has
 * recorded several exceptions, the last one is used.
 */
export function toErrorText(span: Span, bag: AttributeBag): string | undefined {
  if (span.isOk) {
    return undefined;
  }
  const exception = span.events.findLast(({ name }) => name === "exception");
  if (exception === undefined) {
    return span.isError ? describeStatus(span, bag) : undefined;
  }
  const text = describeException(exception);
  const { statusMessage } = span;
  return span.isError && statusMessage !== "" && !text.includes(statusMessage)
    ? `${statusMessage}\n\n${text}`
    : text;
}

/** Describes an error without an exception by its message and its type. `_OTHER` is the type of an unknown error. */
function describeStatus({ statusMessage }: Span, bag: AttributeBag): string {
  const message = statusMessage || bag.peekText("error.message") || "";
  const type = bag.peekText("error.type") ?? "";
  const isTypeKnown = type !== "" && type !== "_OTHER" && !message.includes(type);
  return [isTypeKnown ? type : "", message].filter(Boolean).join(": ") || type || "ERROR";
}

function describeException({ attributes }: SpanEvent): string {
  const [type, message, stack] = ["type", "message", "stacktrace"].map((name) => {
    const value = attributes.get(`exception.${name}`);
    return typeof value === "string" ? value : "";
  });
  const headline = [type, message].filter(Boolean).join(": ") || "exception";
  if (stack === undefined || stack === "") {
    return headline;
  }
  // In most languages, the stack trace already contains the type and the message, at its beginning or end.
  const hasHeadline = stack.includes(message ?? "") && stack.includes(type ?? "");
  return hasHeadline ? stack : `${headline}\n\n${stack}`;
}
