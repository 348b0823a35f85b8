import { setImmediate } from "node:timers/promises";
import type { Attachment, Example } from "./example.ts";
import { toIso } from "../../http/wire-text.ts";

/** Creates the URL from which an attachment can be downloaded. */
export type CreateAttachmentUrl = (attachment: Attachment) => string;

/** Members that every response contains. `modified_at` is one of them, because clients read it without selecting it. */
export const fixedMembers: ReadonlySet<string> = new Set([
  "id",
  "name",
  "dataset_id",
  "inputs",
  "created_at",
  "modified_at",
]);

/** Members that a list contains if the request does not select any. */
export const listedMembers: ReadonlySet<string> = new Set(["source_run_id", "metadata", "outputs"]);

/** All members of an example that a request can select. */
export const allMembers: ReadonlySet<string> = new Set([...listedMembers, "attachment_urls"]);

/** How to serialize examples for a response. */
export interface ExampleView {
  /** Members to return in addition to {@link fixedMembers}. */
  readonly select: ReadonlySet<string>;
  readonly createAttachmentUrl: CreateAttachmentUrl;
}

/**
 * Serializes an example. Its payloads are copied as text, not parsed, so clients get them back exactly as they sent
 * them.
 */
export function toExampleJson(
  example: Example,
  { select, createAttachmentUrl }: ExampleView,
): string {
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
    ["attachment_urls", () => toAttachmentUrls(example.attachments, createAttachmentUrl)],
  ];
  const texts = members
    .filter(([name]) => fixedMembers.has(name) || select.has(name))
    .map(([name, toJson]) => `"${name}":${toJson()}`);
  return `{${texts.join(",")}}`;
}

/** Joins texts that are already JSON into a JSON list. */
export const toJsonList = (items: readonly string[]): Buffer => Buffer.from(`[${items.join(",")}]`);

/**
 * Serializing pauses after this many milliseconds so that other requests can run: copying long examples may take long.
 */
const sliceMs = 20;

/** Serializes items into a JSON list. Lets other requests run in between; see {@link sliceMs}. */
export async function toJsonListInSlices<Item>(
  items: readonly Item[],
  toJson: (item: Item) => string,
): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let sliceStart = performance.now();
  for (const [index, item] of items.entries()) {
    chunks.push(Buffer.from(index === 0 ? "[" : ","), Buffer.from(toJson(item)));
    if (performance.now() - sliceStart > sliceMs) {
      await setImmediate();
      sliceStart = performance.now();
    }
  }
  return Buffer.concat([...chunks, Buffer.from(items.length === 0 ? "[]" : "]")]);
}

function toAttachmentUrls(attachments: readonly Attachment[], link: CreateAttachmentUrl): string {
  const entries = attachments.map((attachment) => {
    const url = link(attachment);
    return [
      `attachment.${attachment.name}`,
      { presigned_url: url, s3_url: url, mime_type: attachment.mimeType },
    ];
  });
  return entries.length === 0 ? "null" : JSON.stringify(Object.fromEntries(entries));
}
