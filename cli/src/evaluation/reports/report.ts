import { createWriteStream } from "node:fs";
import { mkdir } from "node:fs/promises";
import { dirname } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { UsageError } from "../../usage-error.ts";
import { renderJson } from "./json.ts";
import { renderJunit } from "./junit.ts";
import { renderMarkdown } from "./markdown.ts";
import { readRows } from "./rows.ts";
import type { ReadRows, ReportContent } from "./rows.ts";

/** Yields a report in pieces, so that memory use does not grow with the number of rows. */
type Render = (content: ReportContent, readRows: ReadRows) => AsyncGenerator<string, void>;

const formats: ReadonlyMap<string, Render> = new Map([
  ["json", renderJson],
  ["junit", renderJunit],
  ["markdown", renderMarkdown],
]);

export interface Report {
  readonly path: string;
  readonly render: Render;
}

/**
 * Parses the option `--reporter`, such as `junit=report.xml`.
 *
 * @throws {@link UsageError} if the text is not a known format and a path.
 */
export function parseReporter(text: string): Report {
  const [, format = "", path = ""] = /^(\w+)=(.+)$/.exec(text) ?? [];
  const render = formats.get(format);
  if (render === undefined) {
    throw new UsageError(
      `--reporter ${text}: pass a format and a file, such as junit=report.xml; the formats are ${[...formats.keys()].join(", ")}`,
    );
  }
  return { path, render };
}

export async function writeReport({ path, render }: Report, content: ReportContent): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await pipeline(Readable.from(render(content, readRows)), createWriteStream(path));
}
