import { toPrintable } from "./printable-text.ts";

/**
 * Maximum total length of the reasons that are copied from an error response to an error message, in UTF-16 code units.
 */
const detailLimit = 1_000;
/** Maximum length of the excerpt of a response that is not JSON, such as a proxy's web page. */
const excerptLimit = 200;

/**
 * Extracts the reasons from an error response: the texts of `detail`, `error` and `details` (docs/wire.md). The rest of
 * a JSON body is ignored, because it can contain the data of the request: servers may repeat that data in validation
 * errors. For a body that is not a JSON object, returns its beginning.
 */
export const extractDetail = (body: string): string => toPrintable(toOneLine(extractReasons(body)));

function extractReasons(body: string): string {
  const response = parseJson(body);
  if (typeof response !== "object" || response === null) {
    return body.trim().slice(0, excerptLimit);
  }
  const texts = ["detail", "error", "details"].flatMap((key) =>
    readTexts(Reflect.get(response, key)),
  );
  return texts.join("; ").slice(0, detailLimit);
}

/** Extracts only the texts of `detail` from an error response; empty if it has no such member. */
export function extractDetailLines(body: string): readonly string[] {
  const response = parseJson(body);
  return typeof response === "object" && response !== null
    ? readTexts(Reflect.get(response, "detail")).map((line) =>
        toPrintable(toOneLine(line), detailLimit),
      )
    : [];
}

/** Joins the lines of a text. Lines of carets are left out: they point at something in the line above. */
const toOneLine = (text: string): string =>
  text
    .split(/[\r\n]/)
    .map((line) => line.trim())
    .filter((line) => line !== "" && !/^\^+$/.test(line))
    .join(" ");

/** Returns the texts of a string, or of an array of strings and objects `{ loc, msg }`. */
function readTexts(detail: unknown): readonly string[] {
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
    const location = "loc" in item && Array.isArray(item.loc) ? `${item.loc.join(".")}: ` : "";
    return [`${location}${String(item.msg)}`];
  });
}

function parseJson(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    // The body is not JSON. The caller uses the beginning of the text instead.
    return undefined;
  }
}
