/** One event of a `text/event-stream`. */
export interface StreamEvent {
  /** Empty if the event names no type. */
  readonly type: string;
  readonly data: string;
}

/** Thrown for a response that is not an event stream, or that exceeds a limit. */
export class EventStreamError extends Error {
  readonly isLimit: boolean;

  constructor(message: string, { isLimit = false }: { readonly isLimit?: boolean } = {}) {
    super(message);
    this.name = "EventStreamError";
    this.isLimit = isLimit;
  }
}

/** Parses a `text/event-stream` whose bytes arrive in chunks of any size. Each chunk is read once. */
export class EventStreamParser {
  readonly #decoder = new TextDecoder();
  readonly #maxEventChars: number;
  /** The parts of the line that is not complete yet. */
  #lineParts: string[] = [];
  #lineChars = 0;
  #data: string[] = [];
  #dataChars = 0;
  #type = "";
  #endsWithReturn = false;

  constructor(maxEventChars: number) {
    this.#maxEventChars = maxEventChars;
  }

  /** Adds a chunk and returns the events that it completes. @throws EventStreamError an event is too long. */
  push(chunk: Uint8Array): readonly StreamEvent[] {
    return this.#pushText(this.#decoder.decode(chunk, { stream: true }));
  }

  /** Returns the last event, which need not end with an empty line. */
  end(): readonly StreamEvent[] {
    return this.#pushText(`${this.#decoder.decode()}\n\n`);
  }

  #pushText(text: string): readonly StreamEvent[] {
    const events: StreamEvent[] = [];
    let start = this.#endsWithReturn && text.startsWith("\n") ? 1 : 0;
    this.#endsWithReturn = text === "" ? this.#endsWithReturn : text.endsWith("\r");
    const lineEnd = /\r\n|\r|\n/g;
    lineEnd.lastIndex = start;
    for (let match = lineEnd.exec(text); match !== null; match = lineEnd.exec(text)) {
      this.#addToLine(text.slice(start, match.index));
      start = lineEnd.lastIndex;
      const event = this.#endLine();
      if (event !== undefined) {
        events.push(event);
      }
    }
    this.#addToLine(text.slice(start));
    return events;
  }

  #addToLine(text: string): void {
    if (text === "") {
      return;
    }
    this.#lineParts.push(text);
    this.#lineChars += text.length;
    if (this.#lineChars + this.#dataChars > this.#maxEventChars) {
      throw new EventStreamError(
        `an event of the stream has more than ${this.#maxEventChars.toLocaleString("en")} characters`,
        { isLimit: true },
      );
    }
  }

  #endLine(): StreamEvent | undefined {
    const line = this.#lineParts.join("");
    this.#lineParts = [];
    this.#lineChars = 0;
    if (line === "") {
      return this.#endEvent();
    }
    const colon = line.indexOf(":");
    const field = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (field === "data") {
      this.#data.push(value);
      this.#dataChars += value.length + 1;
    } else if (field === "event") {
      this.#type = value;
    }
    return undefined;
  }

  #endEvent(): StreamEvent | undefined {
    const event = { type: this.#type, data: this.#data.join("\n") };
    const isEmpty = this.#data.length === 0;
    this.#type = "";
    this.#data = [];
    this.#dataChars = 0;
    return isEmpty ? undefined : event;
  }
}
