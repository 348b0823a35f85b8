/** One event of a `text/event-stream`. */
export interface ServerEvent {
  /** @defaultValue `message` */
  readonly name: string;
  readonly data: string;
}

/** Longest event that is kept; a stream with a longer one is no stream of ours. */
const eventMax = 4_000_000;

/** Cuts the text of a `text/event-stream` into events, however it arrives. */
export class EventStreamReader {
  #rest = "";

  /** The events that end in what has come so far. @throws RangeError an event has no end. */
  read(text: string): readonly ServerEvent[] {
    const blocks = (this.#rest + text).replaceAll("\r\n", "\n").split("\n\n");
    this.#rest = blocks.pop() ?? "";
    if (this.#rest.length > eventMax) {
      throw new RangeError("the server's stream holds an event without end");
    }
    return blocks.flatMap(parseEvent);
  }
}

/** Nothing for a block of comments, which keep the connection open. */
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
