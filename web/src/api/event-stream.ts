/** One event of a `text/event-stream`. */
export interface ServerEvent {
  /** @defaultValue `message` */
  readonly name: string;
  readonly data: string;
}

/** The maximum length of an event, in characters. The server sends only shorter events. */
const maxEventLength = 4_000_000;

/** Parses a `text/event-stream` that arrives in chunks of any size. */
export class EventStreamReader {
  #incomplete = "";

  /** Adds a chunk and returns the events that it completes. @throws RangeError an event is too long. */
  read(text: string): readonly ServerEvent[] {
    const blocks = (this.#incomplete + text).replaceAll("\r\n", "\n").split("\n\n");
    this.#incomplete = blocks.pop() ?? "";
    if (this.#incomplete.length > maxEventLength) {
      throw new RangeError("The server's event stream contains an event that is too long.");
    }
    return blocks.flatMap(parseEvent);
  }
}

/** Parses one block. Returns no event for a block of comments, which the server sends to keep the connection open. */
function parseEvent(block: string): readonly ServerEvent[] {
  const data: string[] = [];
  let name = "message";
  for (const line of block.split("\n")) {
    const colon = line.indexOf(":");
    const field = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (field === "data") {
      data.push(value);
    } else if (field === "event") {
      name = value;
    }
  }
  return data.length === 0 ? [] : [{ name, data: data.join("\n") }];
}
