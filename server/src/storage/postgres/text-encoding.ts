// A text of JavaScript may contain NUL and halves of surrogate pairs. PostgreSQL stores neither, so each of these
// characters is stored as a placeholder: a character of the last private-use plane, which texts normally do not use. If
// a text does contain such a character, the character is escaped, so that different texts are never stored alike. Texts
// keep their order, except that these characters come after all others.

const nulPlaceholder = 0x10_f7_ff;
const firstSurrogatePlaceholder = 0x10_f8_00;
/** Precedes a character of a text that looks like a placeholder, or like this mark. */
const escapeMark = 0x10_f7_fe;
const escapeCharacter = String.fromCodePoint(escapeMark);

const nulCharacter = String.fromCodePoint(nulPlaceholder);

const firstSurrogate = 0xd8_00;

/** A fast test: most texts contain neither NUL nor a surrogate, so they need no encoding or decoding. */
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
          : String.fromCodePoint(code - firstSurrogate + firstSurrogatePlaceholder);
      })
    : text;
}

/** Returns the text that {@link encodeText} was given. */
export function decodeText(stored: string): string {
  return suspiciousPattern.test(stored)
    ? stored.replaceAll(
        decodedPattern,
        (_match, escaped: string | undefined, placeholder: string | undefined) => {
          const code = placeholder?.codePointAt(0) ?? 0;
          if (placeholder === undefined) {
            return escaped ?? "";
          }
          return code === nulPlaceholder
            ? "\0"
            : String.fromCharCode(code - firstSurrogatePlaceholder + firstSurrogate);
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
