import { isUuid } from "millrace/model";
import { RequestError } from "../../model/errors.ts";
import { MultipartParser, readBoundary } from "../../bodies/multipart-parser.ts";
import type { Part } from "../../bodies/multipart-parser.ts";
import { mimeTypeOf } from "../../bodies/part-head.ts";
import type { AttachmentDraft } from "./example.ts";
import { assertObject, readMembers } from "./example-body.ts";
import type { Members } from "./example-body.ts";

/** What came of one example: its members, and its files. */
export interface ExampleParts {
  readonly id: string;
  readonly members: Members;
  readonly attachments: readonly AttachmentDraft[];
}

/** An example whose parts come; most have two fields and no files. */
interface Open {
  readonly id: string;
  /** Absent until the main part comes. */
  main: Map<string, Buffer> | undefined;
  readonly fields: [name: string, json: Buffer][];
  attachments: Map<string, AttachmentDraft> | undefined;
}

/** The examples of a multipart body, in the order of their first parts. @throws RequestError it is malformed. */
export function parseExampleParts(
  body: Buffer,
  contentType: string | undefined,
): readonly ExampleParts[] {
  const examples = new OpenExamples();
  // Forms of a browser or of fetch say no lengths.
  const parser = new MultipartParser(readBoundary(contentType), (part) => examples.add(part), {
    lengths: "optional",
  });
  parser.push(body);
  parser.end();
  return examples.finish();
}

const uuidLength = 36;
const fileName = /^attachments?\.(.+)$/s;

class OpenExamples {
  readonly #all = new Map<string, Open>();
  /** Parts of one example mostly come behind one another. */
  #last: Open | undefined;

  /** @throws RequestError 422: examples have no such part. */
  add({ fault, ...part }: Part): void {
    const { name } = part;
    const what = (): string => `part ${JSON.stringify(name.slice(0, 120))}`;
    if (fault !== undefined) {
      throw new RequestError(422, `${what()} ${fault}`);
    }
    const mark = name.charAt(uuidLength);
    if (mark !== "" && mark !== ".") {
      throw new RequestError(422, `${what()} does not begin with the id of an example`);
    }
    addPart(this.#find(name.slice(0, uuidLength), what), { ...part, what });
  }

  finish(): readonly ExampleParts[] {
    return Array.from(this.#all.values(), ({ id, main, fields, attachments }) => {
      if (main === undefined) {
        throw new RequestError(422, `there is no part ${id}, only parts of its fields`);
      }
      fields.forEach(([name, json]) => main.set(name, json));
      return {
        id,
        members: main,
        attachments: attachments === undefined ? [] : [...attachments.values()],
      };
    });
  }

  #find(name: string, what: () => string): Open {
    if (this.#last?.id === name) {
      return this.#last;
    }
    const id = name.toLowerCase();
    if (!isUuid(id)) {
      throw new RequestError(422, `${what()} does not begin with the id of an example`);
    }
    const found = this.#all.get(id) ?? { id, main: undefined, fields: [], attachments: undefined };
    this.#all.set(id, found);
    return (this.#last = found);
  }
}

interface NamedPart extends Omit<Part, "fault"> {
  /** What messages call it. */
  readonly what: () => string;
}

function addPart(example: Open, { what, ...part }: NamedPart): void {
  const rest = part.name.slice(uuidLength + 1);
  const file = rest.startsWith("attachment") ? fileName.exec(rest)?.[1] : undefined;
  const twice = (): never => {
    throw new RequestError(422, `${what()} is there twice`);
  };
  if (file !== undefined) {
    const files = (example.attachments ??= new Map());
    if (files.has(file)) {
      twice();
    }
    files.set(file, toAttachment(file, part));
  } else if (rest === "") {
    example.main = example.main === undefined ? readMembers(part.bytes, what()) : twice();
  } else if (rest === "inputs" || rest === "outputs" || rest === "attachments_operations") {
    assertObject(part.bytes, what());
    example.fields.push(
      example.fields.some(([name]) => name === rest) ? twice() : [rest, trim(part.bytes)],
    );
  } else {
    throw new RequestError(
      422,
      `${what()} is none of <id>, <id>.inputs, <id>.outputs, <id>.attachment.<name>, <id>.attachments_operations`,
    );
  }
}

const [openBrace, closeBrace] = [0x7b, 0x7d];

/** Without the blanks around the object, which may begin and end with them. */
const trim = (bytes: Buffer): Buffer =>
  bytes[0] === openBrace && bytes.at(-1) === closeBrace
    ? bytes
    : Buffer.from(bytes.toString("utf8").trim());

/** The bytes are copied: what crosses to the writer takes along all of the memory that it is part of. */
const toAttachment = (
  name: string,
  { contentType, bytes }: Pick<Part, "contentType" | "bytes">,
): AttachmentDraft => ({
  name: unescapeName(name),
  mimeType: mimeTypeOf(contentType).slice(0, 200),
  bytes: new Uint8Array(bytes),
});

/** What FormData writes in place of the characters that would end the name. */
const unescapeName = (name: string): string =>
  name.replaceAll("%22", '"').replaceAll("%0D", "\r").replaceAll("%0A", "\n");
