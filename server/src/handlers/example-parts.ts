import type { IncomingMessage } from "node:http";
import { isUuid } from "millrace/model";
import { RequestError } from "../errors.ts";
import { readChunks } from "../http/read-body.ts";
import { MultipartParser } from "../ingest/multipart-parser.ts";
import type { Part } from "../ingest/multipart-parser.ts";
import { mimeTypeOf } from "../ingest/part-head.ts";
import type { AttachmentDraft } from "../store/example.ts";
import { readMembers } from "./example-body.ts";
import type { Members } from "./example-body.ts";
import { readBoundary } from "./ingest.ts";

/** What came of one example: its members, and its files. */
export interface ExampleParts {
  readonly id: string;
  readonly members: Members;
  readonly attachments: readonly AttachmentDraft[];
}

interface Open {
  /** Absent until the main part comes. */
  main: Members | undefined;
  readonly fields: Map<string, Buffer>;
  readonly attachments: Map<string, AttachmentDraft>;
}

/** The examples of a multipart body, in the order of their first parts. @throws RequestError it is none. */
export async function readExampleParts(request: IncomingMessage): Promise<readonly ExampleParts[]> {
  const examples = new Map<string, Open>();
  // Forms of a browser or of fetch say no lengths.
  const parser = new MultipartParser(
    readBoundary(request.headers["content-type"]),
    (part) => addPart(examples, part),
    {
      lengths: "optional",
    },
  );
  await readChunks(request, (chunk) => parser.push(chunk));
  parser.end();
  return [...examples].map(([id, { main, fields, attachments }]) => {
    if (main === undefined) {
      throw new RequestError(422, `there is no part ${id}, only parts of its fields`);
    }
    return {
      id,
      members: new Map([...main, ...fields]),
      attachments: [...attachments.values()],
    };
  });
}

const uuidLength = 36;
const fileName = /^attachments?\.(.+)$/s;

function addPart(examples: Map<string, Open>, part: Part): void {
  const what = `part ${JSON.stringify(part.name.slice(0, 120))}`;
  const id = part.name.slice(0, uuidLength).toLowerCase();
  const rest = part.name.slice(uuidLength + 1);
  if (part.fault !== undefined) {
    throw new RequestError(422, `${what} ${part.fault}`);
  }
  if (!isUuid(id) || !["", "."].includes(part.name.charAt(uuidLength))) {
    throw new RequestError(422, `${what} does not begin with the id of an example`);
  }
  const example = examples.get(id) ?? {
    main: undefined,
    fields: new Map(),
    attachments: new Map(),
  };
  examples.set(id, example);
  const file = fileName.exec(rest)?.[1];
  if (file !== undefined) {
    addOnce(example.attachments, file, { what, value: toAttachment(file, part) });
  } else if (rest === "") {
    if (example.main !== undefined) {
      throw new RequestError(422, `${what} is there twice`);
    }
    example.main = readMembers(part.bytes, what);
  } else if (["inputs", "outputs", "attachments_operations"].includes(rest)) {
    readMembers(part.bytes, what);
    addOnce(example.fields, rest, { what, value: trim(part.bytes) });
  } else {
    throw new RequestError(
      422,
      `${what} is none of <id>, <id>.inputs, <id>.outputs, <id>.attachment.<name>, <id>.attachments_operations`,
    );
  }
}

function addOnce<Value>(
  map: Map<string, Value>,
  name: string,
  { what, value }: { what: string; value: Value },
): void {
  if (map.has(name)) {
    throw new RequestError(422, `${what} is there twice`);
  }
  map.set(name, value);
}

/** Without the blanks around the object, which may begin and end with them. */
const trim = (bytes: Buffer): Buffer => Buffer.from(bytes.toString("utf8").trim());

/** The bytes are copied: what crosses to the writer takes along all of the memory that it is part of. */
const toAttachment = (name: string, { contentType, bytes }: Part): AttachmentDraft => ({
  name: unescapeName(name),
  mimeType: mimeTypeOf(contentType).slice(0, 200),
  bytes: new Uint8Array(bytes),
});

/** What FormData writes in place of the characters that would end the name. */
const unescapeName = (name: string): string =>
  name.replaceAll("%22", '"').replaceAll("%0D", "\r").replaceAll("%0A", "\n");
