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
