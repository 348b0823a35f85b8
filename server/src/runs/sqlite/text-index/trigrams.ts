/**
 * Returns the text that is indexed for a run. It contains all trigrams of the run's name, of the JSON text of its
 * payloads, and of the decoded strings in that JSON.
 */
export const toIndexedText = (name: string, payloads: readonly string[]): string =>
  [name, ...payloads.flatMap(listPayloadTexts)].join("\n").replaceAll("\0", "\n");

function listPayloadTexts(json: string): string[] {
  const texts = [json];
  if (json.includes("\\")) {
    texts.push([...decodeEscapedParts(json)].join("\n"));
  }
  // Queries read an error that is not a string as JSON without whitespace, so this form is indexed, too.
  if (/"error"\s*:\s*[[{]/.test(json)) {
    texts.push(json.replaceAll(/("(?:[^"\\]|\\.)*")|\s+/gs, "$1"));
  }
  return texts;
}

/**
 * Matches sequences of escapes with fewer than three characters between them, with up to two characters on each side.
 */
const escapePattern =
  /[^\\]{0,2}\\(?:u[\da-fA-F]{4}|[^u])(?:[^\\]{0,2}\\(?:u[\da-fA-F]{4}|[^u]))*(?=([^\\]{0,2}))/gs;

/** Decodes those parts of a JSON text that contain escapes, each with the characters around it. */
function* decodeEscapedParts(json: string): Generator<string> {
  for (const [escapedPart, followingText = ""] of json.matchAll(escapePattern)) {
    yield decodeEscapes(escapedPart + followingText);
  }
}

const escapedCharacters: Readonly<Record<string, string>> = {
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
};

const decodeEscapes = (text: string): string =>
  text.replaceAll(/\\(?:u([\da-fA-F]{4})|(.))/gs, (_all, code?: string, character: string = "") =>
    code === undefined
      ? (escapedCharacters[character] ?? character)
      : String.fromCharCode(Number.parseInt(code, 16)),
  );

/** Maximum number of trigrams in a query: further ones would hardly narrow the result. */
const maxTrigrams = 24;

/** Matches characters that may be stored differently in the index. Only the text between them is searched. */
const differingCharactersPattern = /[\0\p{Surrogate}\uFFFD-\uFFFF]+/u;

/**
 * Returns the FTS5 query for the runs that may contain a text; `undefined` if the text has no trigram, so that the
 * index can't help.
 *
 * @param count - maximum number of trigrams in the query.
 */
export function toMatchExpression(text: string, count: number = maxTrigrams): string | undefined {
  const trigrams = new Set<string>();
  for (const segment of text.split(differingCharactersPattern)) {
    // Split the text by code points, as FTS5 does.
    const codePoints = Array.from(segment);
    for (let start = 0; start + 3 <= codePoints.length; start += 1) {
      trigrams.add(codePoints.slice(start, start + 3).join(""));
    }
  }
  const allTrigrams = [...trigrams];
  const step = Math.max(1, allTrigrams.length / count);
  const selectedTrigrams = Array.from({ length: Math.min(allTrigrams.length, count) }, (_, index) =>
    String(allTrigrams[Math.floor(index * step)]),
  );
  return selectedTrigrams.length === 0
    ? undefined
    : selectedTrigrams.map((trigram) => `"${trigram.replaceAll('"', '""')}"`).join(" AND ");
}
