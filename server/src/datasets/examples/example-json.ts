import { setImmediate } from "node:timers/promises";
import type { Attachment, Example } from "./example.ts";
import { toIso } from "../../http/wire-text.ts";

/** The address under which an attachment can be read. */
export type LinkAttachment = (attachment: Attachment) => string;

/** Members that are always there: clients that select others read the time of a change all the same. */
export const fixedMembers: ReadonlySet<string> = new Set([
  "id",
  "name",
  "dataset_id",
  "inputs",
  "created_at",
  "modified_at",
]);

/** What a list shows where nothing is selected. */
export const listedMembers: ReadonlySet<string> = new Set(["source_run_id", "metadata", "outputs"]);

/** All that an example has. */
export const allMembers: ReadonlySet<string> = new Set([...listedMembers, "attachment_urls"]);

export interface ExampleView {
  /** Members beside those that are always there. */
  readonly select: ReadonlySet<string>;
  readonly link: LinkAttachment;
}

/** An example as the wire has it. Its payloads are copied, not read: they come back as they were. */
export function toExampleJson(example: Example, { select, link }: ExampleView): string {
  const members: readonly (readonly [string, () => string])[] = [
    ["id", () => JSON.stringify(example.id)],
    ["name", () => JSON.stringify(`#${example.id.slice(0, 4)} @ ${example.datasetName}`)],
    ["dataset_id", () => JSON.stringify(example.datasetId)],
    ["source_run_id", () => JSON.stringify(example.sourceRunId)],
    ["inputs", () => example.inputs],
    ["outputs", () => example.outputs ?? "null"],
    ["metadata", () => example.metadata],
    ["created_at", () => JSON.stringify(toIso(example.createdMicros))],
    ["modified_at", () => JSON.stringify(toIso(example.modifiedMicros))],
    ["attachment_urls", () => toUrls(example.attachments, link)],
  ];
  const texts = members
    .filter(([name]) => fixedMembers.has(name) || select.has(name))
    .map(([name, json]) => `"${name}":${json()}`);
  return `{${texts.join(",")}}`;
}

/** A list of texts that are JSON already. */
export const toJsonList = (items: readonly string[]): Buffer => Buffer.from(`[${items.join(",")}]`);

/** After so long others have their turn: examples may be long, and each is copied. */
const sliceMs = 20;

/** The same of what is made into JSON one by one, in slices. */
export async function toJsonListInSlices<Item>(
  items: readonly Item[],
  toJson: (item: Item) => string,
): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let began = performance.now();
  for (const [index, item] of items.entries()) {
    pieces.push(Buffer.from(index === 0 ? "[" : ","), Buffer.from(toJson(item)));
    if (performance.now() - began > sliceMs) {
      await setImmediate();
      began = performance.now();
    }
  }
  return Buffer.concat([...pieces, Buffer.from(items.length === 0 ? "[]" : "]")]);
}

function toUrls(attachments: readonly Attachment[], link: LinkAttachment): string {
  const entries = attachments.map((attachment) => {
    const url = link(attachment);
    return [
      `attachment.${attachment.name}`,
      { presigned_url: url, s3_url: url, mime_type: attachment.mimeType },
    ];
  });
  return entries.length === 0 ? "null" : JSON.stringify(Object.fromEntries(entries));
}
