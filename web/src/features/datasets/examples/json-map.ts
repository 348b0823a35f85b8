/** A range of characters in a text, by offset; `to` is exclusive. */
export interface TextRange {
  readonly from: number;
  readonly to: number;
}

/** The range of each value in a JSON text, or the first syntax error in the text. */
export type JsonMap =
  /** Keyed by JSON pointer: `""` is the root value, `/a/0` is the first item of `a`. */
  | { readonly kind: "json"; readonly ranges: ReadonlyMap<string, TextRange> }
  | { readonly kind: "fault"; readonly fault: TextRange & { readonly message: string } };

/** The maximum nesting depth. The server, too, rejects values that are nested more deeply. */
const maxDepth = 500;
const literalPattern = /true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
// oxlint-disable-next-line no-control-regex -- JSON strings must not contain control characters
const stringPattern = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[\da-fA-F]{4}))*"/y;

/** Finds the range of each value in a JSON text, so that an editor can mark values. */
export function mapJson(json: string): JsonMap {
  const reader = new JsonReader(json);
  try {
    reader.readDocument();
  } catch (cause) {
    if (cause instanceof JsonSyntaxError) {
      const { offset, message } = cause;
      return { kind: "fault", fault: { from: offset, to: offset + 1, message } };
    }
    throw cause;
  }
  return { kind: "json", ranges: reader.ranges };
}

class JsonSyntaxError extends Error {
  readonly offset: number;

  constructor(offset: number, message: string) {
    super(message);
    this.offset = offset;
  }
}

class JsonReader {
  readonly ranges = new Map<string, TextRange>();
  readonly #json: string;
  #offset = 0;

  constructor(json: string) {
    this.#json = json;
  }

  readDocument(): void {
    this.#readValue("", 0);
    this.#skipSpace();
    if (this.#offset < this.#json.length) {
      throw new JsonSyntaxError(this.#offset, "unexpected text after the value");
    }
  }

  #readValue(path: string, depth: number): void {
    this.#skipSpace();
    const from = this.#offset;
    if (depth > maxDepth) {
      throw new JsonSyntaxError(from, `more than ${maxDepth} nested levels`);
    }
    const firstChar = this.#json[from];
    if (firstChar === "{") {
      this.#readItems("}", () => this.#readMember(path, depth));
    } else if (firstChar === "[") {
      let index = 0;
      this.#readItems("]", () => {
        this.#readValue(`${path}/${index}`, depth + 1);
        index += 1;
      });
    } else if (firstChar === '"') {
      this.#readString();
    } else if (this.#readPattern(literalPattern) === undefined) {
      throw new JsonSyntaxError(
        from,
        firstChar === undefined ? "expected a value" : "this is not a JSON value",
      );
    }
    this.ranges.set(path, { from, to: this.#offset });
  }

  #readMember(path: string, depth: number): void {
    this.#skipSpace();
    if (this.#json[this.#offset] !== '"') {
      throw new JsonSyntaxError(this.#offset, "expected a property name in double quotes");
    }
    const name = String(JSON.parse(this.#readString()));
    this.#skipSpace();
    if (this.#json[this.#offset] !== ":") {
      throw new JsonSyntaxError(this.#offset, 'expected ":" after the property name');
    }
    this.#offset += 1;
    this.#readValue(`${path}/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`, depth + 1);
  }

  /** Reads comma-separated items up to the closing bracket `end`. */
  #readItems(end: "}" | "]", readItem: () => void): void {
    this.#offset += 1;
    this.#skipSpace();
    if (this.#json[this.#offset] === end) {
      this.#offset += 1;
      return;
    }
    for (;;) {
      readItem();
      this.#skipSpace();
      const separator = this.#json[this.#offset];
      if (separator !== "," && separator !== end) {
        throw new JsonSyntaxError(this.#offset, `expected "," or "${end}"`);
      }
      this.#offset += 1;
      if (separator === end) {
        return;
      }
    }
  }

  #readString(): string {
    const matchedText = this.#readPattern(stringPattern);
    if (matchedText === undefined) {
      throw new JsonSyntaxError(
        this.#offset,
        "this string is not closed, or has an invalid character or escape",
      );
    }
    return matchedText;
  }

  #readPattern(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#offset;
    const matchedText = pattern.exec(this.#json)?.[0];
    this.#offset += matchedText?.length ?? 0;
    return matchedText;
  }

  #skipSpace(): void {
    while (" \t\n\r".includes(this.#json[this.#offset] ?? "x")) {
      this.#offset += 1;
    }
  }
}
