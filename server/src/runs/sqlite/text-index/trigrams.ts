/**
 * Returns the text that is indexed for a run. It contains all trigrams of the run's name, of the JSON text of its
 * payloads, and of the decoded strings in that JSON.
 */
export const toIndexedText = (name: string, payloads: readonly string[]): string =>
  [name, ...payloads.flatMap(textsOfPayload)].join("\n").replaceAll("\0", "\n");

function textsOfPayload(json: string): string[] {
  const texts = [json];
  if (json.includes("\\")) {
    texts.push([...decodedParts(json)].join("\n"));
  }
  // Queries see an error that is not a string as JSON without whitespace.
  if (/"error"\s*:\s*[[{]/.test(json)) {
    texts.push(json.replaceAll(/("(?:[^"\\]|\\.)*")|\s+/gs, "$1"));
  }
  return texts;
}

/** Escapes with fewer than three characters between them, and up to two characters on both sides. */
const escapes =
  /[^\\]{0,2}\\(?:u[\da-fA-F]{4}|[^u])(?:[^\\]{0,2}\\(?:u[\da-fA-F]{4}|[^u]))*(?=([^\\]{0,2}))/gs;

/** Decodes those parts of a JSON text that contain escapes. */
function* decodedParts(json: string): Generator<string> {
  for (const [found, after = ""] of json.matchAll(escapes)) {
    yield decode(found + after);
  }
}

const escapedCharacters: Readonly<Record<string, string>> = {
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
};

const decode = (text: string): string =>
  text.replaceAll(/\\(?:u([\da-fA-F]{4})|(.))/gs, (_all, code?: string, character: string = "") =>
    code === undefined
      ? (escapedCharacters[character] ?? character)
      : String.fromCharCode(Number.parseInt(code, 16)),
  );

/** Maximum number of trigrams in a query: further ones would hardly narrow the result. */
const maxTrigrams = 24;

/** Characters that may be stored differently in the index. Only the text between them is searched. */
const differingCharacters = /[\0\p{Surrogate}\uFFFD-\uFFFF]+/u;

/**
 * Returns the FTS5 query for the runs that may contain a text; `undefined` if the text has no trigram, so that the
 * index can't help.
 *
 * @param count - the query contains at most this number of trigrams.
 */
export function toMatch(text: string, count: number = maxTrigrams): string | undefined {
  const trigrams = new Set<string>();
  for (const segment of text.split(differingCharacters)) {
    // By code points, as FTS5 splits text.
    const points = Array.from(segment);
    for (let at = 0; at + 3 <= points.length; at += 1) {
      trigrams.add(points.slice(at, at + 3).join(""));
    }
  }
  const all = [...trigrams];
  const step = Math.max(1, all.length / count);
  const selected = Array.from({ length: Math.min(all.length, count) }, (_, index) =>
    String(all[Math.floor(index * step)]),
  );
  return selected.length === 0
    ? undefined
    : selected.map((trigram) => `"${trigram.replaceAll('"', '""')}"`).join(" AND ");
}
