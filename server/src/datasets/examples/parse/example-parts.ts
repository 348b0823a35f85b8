import { isUuid } from "millrace/model";
import { RequestError } from "../../../model/errors.ts";
import { MultipartParser, readBoundary } from "../../../bodies/multipart-parser.ts";
import type { Part } from "../../../bodies/multipart-parser.ts";
import { toMimeType } from "../../../bodies/part-head.ts";
import type { AttachmentDraft } from "../example.ts";
import { assertObject, readMembers } from "./example-body.ts";
import type { Members } from "./example-body.ts";

/** An example from a multipart form. */
export interface FormExample {
  readonly id: string;
  readonly members: Members;
  readonly attachments: readonly AttachmentDraft[];
}

/**
 * An example whose parts are still being read. Most examples have two fields and no attachments, so the fields are a
 * list, and a map of attachments is created only when it is needed.
 */
interface PendingExample {
  readonly id: string;
  /** The members in the example's main part; `undefined` until that part is read. */
  main: Map<string, Buffer> | undefined;
  /** The members that have parts of their own. */
  readonly fields: [name: string, json: Buffer][];
  attachments: Map<string, AttachmentDraft> | undefined;
}

/**
 * Parses the examples of a multipart form. They are returned in the order of their first parts.
 *
 * @throws RequestError if the body is malformed.
 */
export function parseExampleParts(
  body: Buffer,
  contentType: string | undefined,
): readonly FormExample[] {
  const examples = new PendingExamples();
  // Browsers and `fetch` do not send the lengths of the parts.
  const parser = new MultipartParser(readBoundary(contentType), (part) => examples.add(part), {
    lengths: "optional",
  });
  parser.push(body);
  parser.end();
  return examples.finish();
}

const uuidLength = 36;
const attachmentField = /^attachments?\.(.+)$/s;

class PendingExamples {
  readonly #byId = new Map<string, PendingExample>();
  /** The example of the previous part, to find it fast: the parts of an example usually follow each other. */
  #last: PendingExample | undefined;

  /** @throws RequestError 422: the part is malformed, has an unknown name, or was sent twice. */
  add({ fault, ...part }: Part): void {
    const { name } = part;
    const createLabel = (): string => `part ${JSON.stringify(name.slice(0, 120))}`;
    if (fault !== undefined) {
      throw new RequestError(422, `${createLabel()} ${fault}`);
    }
    const separator = name.charAt(uuidLength);
    if (separator !== "" && separator !== ".") {
      throw new RequestError(422, `${createLabel()} does not begin with the id of an example`);
    }
    addPart(this.#findOrAdd(name.slice(0, uuidLength), createLabel), {
      ...part,
      describePart: createLabel,
    });
  }

  finish(): readonly FormExample[] {
    return Array.from(this.#byId.values(), ({ id, main, fields, attachments }) => {
      if (main === undefined) {
        throw new RequestError(
          422,
          `the part ${id} is missing; only parts for its fields were sent`,
        );
      }
      fields.forEach(([name, json]) => main.set(name, json));
      return {
        id,
        members: main,
        attachments: attachments === undefined ? [] : [...attachments.values()],
      };
    });
  }

  #findOrAdd(name: string, describePart: () => string): PendingExample {
    if (this.#last?.id === name) {
      return this.#last;
    }
    const id = name.toLowerCase();
    if (!isUuid(id)) {
      throw new RequestError(422, `${describePart()} does not begin with the id of an example`);
    }
    const pendingExample = this.#byId.get(id) ?? {
      id,
      main: undefined,
      fields: [],
      attachments: undefined,
    };
    this.#byId.set(id, pendingExample);
    return (this.#last = pendingExample);
  }
}

interface NamedPart extends Omit<Part, "fault"> {
  /** How error messages refer to the part. */
  readonly describePart: () => string;
}

function addPart(example: PendingExample, { describePart, ...part }: NamedPart): void {
  const field = part.name.slice(uuidLength + 1);
  const fileName = field.startsWith("attachment") ? attachmentField.exec(field)?.[1] : undefined;
  const failDuplicate = (): never => {
    throw new RequestError(422, `${describePart()} was sent twice`);
  };
  if (fileName !== undefined) {
    const files = (example.attachments ??= new Map());
    if (files.has(fileName)) {
      failDuplicate();
    }
    files.set(fileName, toAttachment(fileName, part));
  } else if (field === "") {
    example.main =
      example.main === undefined ? readMembers(part.bytes, describePart()) : failDuplicate();
  } else if (field === "inputs" || field === "outputs" || field === "attachments_operations") {
    assertObject(part.bytes, describePart());
    example.fields.push(
      example.fields.some(([name]) => name === field)
        ? failDuplicate()
        : [field, trimSpace(part.bytes)],
    );
  } else {
    throw new RequestError(
      422,
      `${describePart()} must be named <id>, <id>.inputs, <id>.outputs, <id>.attachment.<name> or <id>.attachments_operations`,
    );
  }
}

const [openBrace, closeBrace] = [0x7b, 0x7d];

/** Removes the whitespace around a JSON object. */
const trimSpace = (bytes: Buffer): Buffer =>
  bytes[0] === openBrace && bytes.at(-1) === closeBrace
    ? bytes
    : Buffer.from(bytes.toString("utf8").trim());

/**
 * Creates an attachment from a part of the form. Copies its bytes, because they are a part of the whole body's buffer:
 * without the copy, sending them to the writer thread would send the whole body.
 */
const toAttachment = (
  name: string,
  { contentType, bytes }: Pick<Part, "contentType" | "bytes">,
): AttachmentDraft => ({
  name: unescapeFileName(name),
  mimeType: toMimeType(contentType).slice(0, 200),
  bytes: new Uint8Array(bytes),
});

/** Restores the characters of a file name that `FormData` escapes, because they would end the name in the form. */
const unescapeFileName = (name: string): string =>
  name.replaceAll("%22", '"').replaceAll("%0D", "\r").replaceAll("%0A", "\n");
