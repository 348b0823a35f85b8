/** An event of a stream of server-sent events. */
export interface ServerSentEvent {
  /** The event's type; empty if the event has none. */
  readonly type: string;
  /** The lines of data, joined by line feeds. */
  readonly data: string;
}

export interface EventStream {
  readonly events: readonly ServerSentEvent[];
  /** The data after the last blank line. A stream that ended at the end of an event has none. */
  readonly unfinished: ServerSentEvent | undefined;
}

/**
 * Parses server-sent events as the HTML standard requires: lines end with CR, LF or both, lines that begin with a colon
 * are comments, several lines of data form one event, and a blank line ends an event.
 */
export function parseEventStream(text: string): EventStream {
  const lines = text.includes("\r") ? text.replaceAll(/\r\n?/g, "\n") : text;
  const events: ServerSentEvent[] = [];
  let type = "";
  let data: string | undefined;
  let position = lines.startsWith("\uFEFF") ? 1 : 0;
  while (position < lines.length) {
    const lineEnd = lines.indexOf("\n", position);
    const end = lineEnd === -1 ? lines.length : lineEnd;
    if (end === position) {
      if (data !== undefined) {
        events.push({ type, data });
      }
      type = "";
      data = undefined;
    } else {
      const { name, value } = parseLine(lines.slice(position, end));
      if (name === "data") {
        data = data === undefined ? value : `${data}\n${value}`;
      } else if (name === "event") {
        type = value;
      }
    }
    position = end + 1;
  }
  return { events, unfinished: data === undefined ? undefined : { type, data } };
}

function parseLine(line: string): { readonly name: string; readonly value: string } {
  const colon = line.indexOf(":");
  if (colon === -1) {
    return { name: line, value: "" };
  }
  const valueStart = line.charAt(colon + 1) === " " ? colon + 2 : colon + 1;
  return { name: line.slice(0, colon), value: line.slice(valueStart) };
}

/** Whether a body looks like server-sent events. Used if the content type names neither these nor JSON. */
export const looksLikeEventStream = (text: string): boolean =>
  /^\uFEFF?\s*(?:data|event|id|retry)?:/.test(text.slice(0, 200));
