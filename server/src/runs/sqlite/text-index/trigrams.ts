/**
 * The text under which the index finds a run. It has every three letters in a row that stand in the run's name, in
 * the JSON text of its payloads, and in the texts within them.
 */
export const toIndexedText = (name: string, payloads: readonly string[]): string =>
  [name, ...payloads.flatMap(textsOfPayload)].join("\n").replaceAll("\0", "\n");

function textsOfPayload(json: string): string[] {
  const texts = [json];
  if (json.includes("\\")) {
    texts.push([...decodedParts(json)].join("\n"));
  }
  // SQLite hands over an error that is no text as JSON without blanks.
  if (/"error"\s*:\s*[[{]/.test(json)) {
    texts.push(json.replaceAll(/("(?:[^"\\]|\\.)*")|\s+/gs, "$1"));
  }
  return texts;
}

/** Escapes with less than three letters between them, and the two letters before and behind. */
const escapes =
  /[^\\]{0,2}\\(?:u[\da-fA-F]{4}|[^u])(?:[^\\]{0,2}\\(?:u[\da-fA-F]{4}|[^u]))*(?=([^\\]{0,2}))/gs;

/** Where a JSON text is written with escapes: the same as the text that it stands for. */
function* decodedParts(json: string): Generator<string> {
  for (const [found, after = ""] of json.matchAll(escapes)) {
    yield decode(found + after);
  }
}

const letters: Readonly<Record<string, string>> = { b: "\b", f: "\f", n: "\n", r: "\r", t: "\t" };

const decode = (text: string): string =>
  text.replaceAll(/\\(?:u([\da-fA-F]{4})|(.))/gs, (_all, code?: string, letter: string = "") =>
    code === undefined
      ? (letters[letter] ?? letter)
      : String.fromCharCode(Number.parseInt(code, 16)),
  );

/** What the index asks for at most: more say hardly more. */
const trigramsMax = 24;

/** Where a text is not the same in the index: its pieces are. */
const unlike = /[\0\p{Surrogate}\uFFFD-\uFFFF]+/u;

/**
 * The words of FTS5 for the runs that may hold a text; `undefined` where the index can't tell, since the text has
 * no three letters in a row.
 */
export function toMatch(text: string): string | undefined {
  const trigrams = new Set<string>();
  for (const piece of text.split(unlike)) {
    // By code points, as FTS5 has letters.
    const points = Array.from(piece);
    for (let at = 0; at + 3 <= points.length; at += 1) {
      trigrams.add(points.slice(at, at + 3).join(""));
    }
  }
  const all = [...trigrams];
  const step = Math.max(1, all.length / trigramsMax);
  const asked = Array.from({ length: Math.min(all.length, trigramsMax) }, (_, index) =>
    String(all[Math.floor(index * step)]),
  );
  return asked.length === 0
    ? undefined
    : asked.map((trigram) => `"${trigram.replaceAll('"', '""')}"`).join(" AND ");
}
