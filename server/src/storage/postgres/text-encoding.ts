// A text of JavaScript may contain NUL and halves of surrogate pairs. PostgreSQL stores neither, so each of these
// characters is stored as a character of the last private-use plane, of which no text makes use. A text that
// nevertheless contains one of them is escaped, so that different texts are never stored alike. Texts keep their order,
// except that these characters come after all others.

const nulStandIn = 0x10_f7_ff;
const firstSurrogateStandIn = 0x10_f8_00;
/** Precedes a character that looks like a stand-in, or like this mark. */
const escapeMark = 0x10_f7_fe;
const escapeCharacter = String.fromCodePoint(escapeMark);

const nulCharacter = String.fromCodePoint(nulStandIn);

const firstSurrogate = 0xd8_00;

/** Most texts contain neither NUL nor any surrogate, and this pattern is fast. */
const suspiciousPattern = /[\0\ud800-\udfff]/;
const encodedPattern = /[\0\p{Surrogate}\u{10f7fe}-\u{10ffff}]/gu;
const decodedPattern = /\u{10f7fe}([\u{10f7fe}-\u{10ffff}])|([\u{10f7ff}-\u{10ffff}])/gu;

/** Returns the text as PostgreSQL stores it. */
export function encodeText(text: string): string {
  return suspiciousPattern.test(text)
    ? text.replaceAll(encodedPattern, (character) => {
        const code = character.codePointAt(0) ?? 0;
        if (code >= escapeMark) {
          return escapeCharacter + character;
        }
        return code === 0
          ? nulCharacter
          : String.fromCodePoint(code - firstSurrogate + firstSurrogateStandIn);
      })
    : text;
}

/** Returns the text that {@link encodeText} was given. */
export function decodeText(stored: string): string {
  return suspiciousPattern.test(stored)
    ? stored.replaceAll(
        decodedPattern,
        (_match, escaped: string | undefined, standIn: string | undefined) => {
          const code = standIn?.codePointAt(0) ?? 0;
          if (standIn === undefined) {
            return escaped ?? "";
          }
          return code === nulStandIn
            ? "\0"
            : String.fromCharCode(code - firstSurrogateStandIn + firstSurrogate);
        },
      )
    : stored;
}

/** Returns a JSON value whose texts and keys are encoded, for comparisons with stored JSON. */
export function encodeJsonTexts(value: unknown): unknown {
  if (typeof value === "string") {
    return encodeText(value);
  }
  if (Array.isArray(value)) {
    return value.map(encodeJsonTexts);
  }
  return typeof value === "object" && value !== null
    ? Object.fromEntries(
        Object.entries(value).map(([key, inner]) => [encodeText(key), encodeJsonTexts(inner)]),
      )
    : value;
}
