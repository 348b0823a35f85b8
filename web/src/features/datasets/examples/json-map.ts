/** From a character up to another. */
export interface TextRange {
  readonly from: number;
  readonly to: number;
}

/** Where each value of a JSON text stands, or what is wrong with the text. */
export type JsonMap =
  /** By JSON pointer: `""` is the whole, `/a/0` the first item of `a`. */
  | { readonly kind: "json"; readonly ranges: ReadonlyMap<string, TextRange> }
  | { readonly kind: "fault"; readonly fault: TextRange & { readonly message: string } };

/** Levels that are followed; deeper is refused, as the server would. */
const maxDepth = 500;
const literal = /true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
// oxlint-disable-next-line no-control-regex -- what JSON's texts may not hold
const text = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[\da-fA-F]{4}))*"/y;

/** Reads a JSON text for the places in it: an editor marks them. */
export function mapJson(json: string): JsonMap {
  const reader = new Reader(json);
  try {
    reader.readWhole();
  } catch (cause) {
    if (cause instanceof Fault) {
      const { at, message } = cause;
      return { kind: "fault", fault: { from: at, to: at + 1, message } };
    }
    throw cause;
  }
  return { kind: "json", ranges: reader.ranges };
}

class Fault extends Error {
  readonly at: number;

  constructor(at: number, message: string) {
    super(message);
    this.at = at;
  }
}

class Reader {
  readonly ranges = new Map<string, TextRange>();
  readonly #json: string;
  #at = 0;

  constructor(json: string) {
    this.#json = json;
  }

  readWhole(): void {
    this.#readValue("", 0);
    this.#skipSpace();
    if (this.#at < this.#json.length) {
      throw new Fault(this.#at, "there is more behind the value");
    }
  }

  #readValue(path: string, depth: number): void {
    this.#skipSpace();
    const from = this.#at;
    if (depth > maxDepth) {
      throw new Fault(from, `more than ${maxDepth} levels`);
    }
    const head = this.#json[from];
    if (head === "{") {
      this.#readList("}", () => this.#readMember(path, depth));
    } else if (head === "[") {
      let index = 0;
      this.#readList("]", () => {
        this.#readValue(`${path}/${index}`, depth + 1);
        index += 1;
      });
    } else if (head === '"') {
      this.#readText();
    } else if (this.#match(literal) === undefined) {
      throw new Fault(from, head === undefined ? "a value is missing" : "this is no JSON value");
    }
    this.ranges.set(path, { from, to: this.#at });
  }

  #readMember(path: string, depth: number): void {
    this.#skipSpace();
    if (this.#json[this.#at] !== '"') {
      throw new Fault(this.#at, 'a name in " is missing');
    }
    const name = String(JSON.parse(this.#readText()));
    this.#skipSpace();
    if (this.#json[this.#at] !== ":") {
      throw new Fault(this.#at, "a : is missing behind the name");
    }
    this.#at += 1;
    this.#readValue(`${path}/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`, depth + 1);
  }

  /** Items between brackets, with commas between them. */
  #readList(end: "}" | "]", readItem: () => void): void {
    this.#at += 1;
    this.#skipSpace();
    if (this.#json[this.#at] === end) {
      this.#at += 1;
      return;
    }
    for (;;) {
      readItem();
      this.#skipSpace();
      const next = this.#json[this.#at];
      if (next !== "," && next !== end) {
        throw new Fault(this.#at, `a , or ${end} is missing`);
      }
      this.#at += 1;
      if (next === end) {
        return;
      }
    }
  }

  #readText(): string {
    const found = this.#match(text);
    if (found === undefined) {
      throw new Fault(this.#at, "this text has no end, or an escape in it is wrong");
    }
    return found;
  }

  #match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#json)?.[0];
    this.#at += found?.length ?? 0;
    return found;
  }

  #skipSpace(): void {
    while (" \t\n\r".includes(this.#json[this.#at] ?? "x")) {
      this.#at += 1;
    }
  }
}
