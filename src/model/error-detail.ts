import { toPrintable } from "./printable-text.ts";

/** Longest text that an error message repeats of an answer, in UTF-16 units. */
const detailLimit = 1_000;
/** Of an answer that is not the wire's, such as a proxy's page. */
const excerptLimit = 200;

/**
 * The reasons in an error response: the texts of `detail`, `error` and `details` (docs/wire.md). Nothing
 * else of the body is used: a server that validates may repeat what it received.
 */
export const detailOf = (body: string): string => toPrintable(textOf(body));

function textOf(body: string): string {
  const answer = parsed(body);
  if (typeof answer !== "object" || answer === null) {
    return body.trim().slice(0, excerptLimit);
  }
  const texts = ["detail", "error", "details"].flatMap((key) => textsOf(Reflect.get(answer, key)));
  return texts.join("; ").slice(0, detailLimit);
}

/** The texts of an answer's `detail` alone; none where it has no such member. */
export function detailLinesOf(body: string): readonly string[] {
  const answer = parsed(body);
  return typeof answer === "object" && answer !== null
    ? textsOf(Reflect.get(answer, "detail")).map((line) => toPrintable(line, detailLimit))
    : [];
}

/** A text, or a list of texts and of `{ loc, msg }`. */
function textsOf(detail: unknown): readonly string[] {
  if (typeof detail === "string") {
    return [detail];
  }
  const list: readonly unknown[] = Array.isArray(detail) ? detail : [];
  return list.flatMap((item) => {
    if (typeof item === "string") {
      return [item];
    }
    if (typeof item !== "object" || item === null || !("msg" in item)) {
      return [];
    }
    const place = "loc" in item && Array.isArray(item.loc) ? `${item.loc.join(".")}: ` : "";
    return [`${place}${String(item.msg)}`];
  });
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    // No JSON: the caller repeats the beginning of the text.
    return undefined;
  }
}
