import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";

/** A start or an end, which the client counts as one record each; or what is attached to a start. */
export type Part = "start" | "end" | "file";

/**
 * What producers and servers write down, a line each.
 * `will`: about to be recorded; `done`: the call returned; `got`: the server keeps it, and answers after
 * the line is written; `left`: in place of what is attached there is an event that says why; `odd`: the server got something that is no part of a run as the wire has it.
 */
export type Line =
  | { readonly is: "will"; readonly id: string; readonly part: Part; readonly print: string }
  | { readonly is: "done"; readonly id: string; readonly part: Part; readonly place: string }
  | {
      readonly is: "got";
      readonly id: string;
      readonly part: Part;
      readonly print: string;
      /** The dotted order. */
      readonly place: string;
    }
  | { readonly is: "left"; readonly id: string; readonly part: Part }
  | { readonly is: "odd"; readonly why: string };

/** In place of a place, of what names none. */
export const nowhere = "-";

export function lineText(line: Line): string {
  switch (line.is) {
    case "will":
      return `will ${line.id} ${line.part} ${line.print}\n`;
    case "done":
      return `done ${line.id} ${line.part} ${line.place}\n`;
    case "got":
      return `got ${line.id} ${line.part} ${line.print} ${line.place}\n`;
    case "left":
      return `left ${line.id} ${line.part}\n`;
    case "odd":
      return `odd ${JSON.stringify(line.why)}\n`;
  }
}

/** Reads a line; `undefined` of one that broke off, as the last one of a killed process may. */
export function parseLine(text: string): Line | undefined {
  const [is = "", id = "", part = "", first = "", second = ""] = text.split(" ");
  if (is === "odd") {
    return { is, why: text.slice(4) };
  }
  if (part !== "start" && part !== "end" && part !== "file") {
    return undefined;
  }
  switch (is) {
    case "will":
      return first.length === 16 ? { is, id, part, print: first } : undefined;
    case "done":
      return first === "" ? undefined : { is, id, part, place: first };
    case "got":
      return second === "" ? undefined : { is, id, part, print: first, place: second };
    case "left":
      return { is, id, part };
    default:
      return undefined;
  }
}

export async function* linesOf(path: string): AsyncGenerator<Line> {
  for await (const text of createInterface({ input: createReadStream(path) })) {
    const line = parseLine(text);
    if (line !== undefined) {
      yield line;
    }
  }
}
