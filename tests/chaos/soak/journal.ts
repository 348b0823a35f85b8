import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";

/** The part of a run that a line is about: its start or end, which are one record each, or the file attached to its start. */
export type Part = "start" | "end" | "file";

/**
 * A line in the journal of a producer or server:
 * - `intent`: the producer is about to record the part.
 * - `returned`: the recording call returned, so the part must arrive.
 * - `stored`: the server has stored the part; it responds after writing this line.
 * - `omitted`: the run contains an event instead of the attachment, which gives the reason.
 * - `malformed`: the server received something that does not have the wire format.
 */
export type Line =
  | { readonly is: "intent"; readonly id: string; readonly part: Part; readonly print: string }
  | {
      readonly is: "returned";
      readonly id: string;
      readonly part: Part;
      readonly dottedOrder: string;
    }
  | {
      readonly is: "stored";
      readonly id: string;
      readonly part: Part;
      readonly print: string;
      readonly dottedOrder: string;
    }
  | { readonly is: "omitted"; readonly id: string; readonly part: Part }
  | { readonly is: "malformed"; readonly why: string };

/** Stands for the dotted order in lines about attachments, which have none. */
export const noDottedOrder = "-";

export function formatLine(line: Line): string {
  switch (line.is) {
    case "intent":
      return `intent ${line.id} ${line.part} ${line.print}\n`;
    case "returned":
      return `returned ${line.id} ${line.part} ${line.dottedOrder}\n`;
    case "stored":
      return `stored ${line.id} ${line.part} ${line.print} ${line.dottedOrder}\n`;
    case "omitted":
      return `omitted ${line.id} ${line.part}\n`;
    case "malformed":
      return `malformed ${JSON.stringify(line.why)}\n`;
  }
}

/** Parses a line. `undefined` for an incomplete line, such as the last one of a killed process. */
export function parseLine(text: string): Line | undefined {
  const [is = "", id = "", part = "", third = "", fourth = ""] = text.split(" ");
  if (is === "malformed") {
    return { is, why: text.slice("malformed ".length) };
  }
  if (part !== "start" && part !== "end" && part !== "file") {
    return undefined;
  }
  switch (is) {
    case "intent":
      return third.length === 16 ? { is, id, part, print: third } : undefined;
    case "returned":
      return third === "" ? undefined : { is, id, part, dottedOrder: third };
    case "stored":
      return fourth === "" ? undefined : { is, id, part, print: third, dottedOrder: fourth };
    case "omitted":
      return { is, id, part };
    default:
      return undefined;
  }
}

export async function* readLines(path: string): AsyncGenerator<Line> {
  for await (const text of createInterface({ input: createReadStream(path) })) {
    const line = parseLine(text);
    if (line !== undefined) {
      yield line;
    }
  }
}
