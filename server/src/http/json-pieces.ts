/** Longer JSON is copied as it is. */
const shortBytes = 1_024;

const nullBytes = Buffer.from("null");
const nullJson = "null";

/**
 * JSON of texts and of bytes that are JSON already. What is short is joined as text, which is sooner done than
 * copying many small pieces; all of it is UTF-8.
 */
export class JsonPieces {
  readonly #pieces: Buffer[] = [];
  #text = "";

  add(text: string): void {
    this.#text += text;
  }

  addJson(json: Buffer | string): void {
    if (typeof json === "string") {
      this.#text += json;
    } else if (json.length > shortBytes) {
      this.#pieces.push(Buffer.from(this.#text), json);
      this.#text = "";
    } else {
      this.#text += isNull(json) ? nullJson : json.toString("utf8");
    }
  }

  /** All that was added. */
  toBuffer(): Buffer {
    const last = Buffer.from(this.#text);
    return this.#pieces.length === 0 ? last : Buffer.concat([...this.#pieces, last]);
  }
}

/** Whether a value is `null`, the most frequent one: compared as bytes, without decoding. */
const isNull = (json: Buffer): boolean =>
  json.length === nullBytes.length && json[0] === nullBytes[0];
