/** The text that replaces a key. */
const maskedKey = "[key]";

/** Shorter keys are not masked: they would occur in ordinary texts. */
const minKeyChars = 4;

/** Removes a key from what an endpoint sends, because an endpoint may echo it. */
export class SecretMask {
  readonly #searchedTexts: readonly string[];
  readonly #longestChars: number;

  constructor(key: string | undefined) {
    const forms =
      key === undefined || key.length < minKeyChars
        ? []
        : [
            key,
            encodeURIComponent(key),
            JSON.stringify(key).slice(1, -1),
            Buffer.from(key).toString("base64"),
          ];
    this.#searchedTexts = [...new Set(forms)].toSorted((a, b) => b.length - a.length);
    this.#longestChars = this.#searchedTexts[0]?.length ?? 0;
  }

  /** Replaces the key wherever it occurs in a text. */
  mask(text: string): string {
    return this.#searchedTexts.reduce((masked, form) => masked.replaceAll(form, maskedKey), text);
  }

  /**
   * Returns how many characters at the end of a text may be the beginning of the key. The caller keeps them back until
   * more of the text has arrived.
   */
  countPossibleKeyChars(text: string): number {
    const longest = Math.min(this.#longestChars - 1, text.length);
    for (let length = longest; length > 0; length -= 1) {
      const end = text.slice(-length);
      if (this.#searchedTexts.some((form) => form.length > length && form.startsWith(end))) {
        return length;
      }
    }
    return 0;
  }
}

/** Masks a key in a text that arrives in parts, even where the key is split between two parts. */
export class MaskedText {
  readonly #mask: SecretMask;
  #heldBack = "";

  constructor(mask: SecretMask) {
    this.#mask = mask;
  }

  /** Adds a part and returns what can be passed on. */
  push(part: string): string {
    const text = this.#mask.mask(this.#heldBack + part);
    const openChars = this.#mask.countPossibleKeyChars(text);
    this.#heldBack = openChars === 0 ? "" : text.slice(-openChars);
    return openChars === 0 ? text : text.slice(0, -openChars);
  }

  /** Returns what was kept back. */
  end(): string {
    const text = this.#heldBack;
    this.#heldBack = "";
    return text;
  }
}
