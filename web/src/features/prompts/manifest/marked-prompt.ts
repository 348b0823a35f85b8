import { toRecord, toText } from "../../../api/parse.ts";
import { toChatMessages } from "../../../components/payload/chat-messages.ts";
import type { ChatMessage } from "../../../components/payload/chat-messages.ts";
import type { PromptContent, PromptPart } from "./manifest.ts";
import { templateRole } from "./manifest.ts";
import { fillPieces } from "./template.ts";
import type { FilledPiece, TemplateValues } from "./template.ts";

/** A recorded message, split into pieces. Each piece is the value of a variable, or text of the prompt itself. */
export interface MarkedMessage {
  readonly role: string;
  readonly pieces: readonly FilledPiece[];
}

/**
 * Finds the values of variables in recorded messages. Fills in a prompt with values, and compares the result with the
 * recorded messages. Returns `undefined` if they differ in any way, because a wrong mark would be misleading, or if no
 * variable was filled in. Recorded messages that follow those of the prompt, such as tool messages, are left out.
 */
export function markVariables(
  { messages, format }: PromptContent,
  values: TemplateValues,
  recorded: readonly ChatMessage[],
): readonly MarkedMessage[] | undefined {
  const markedMessages: MarkedMessage[] = [];
  for (const message of messages) {
    if (message.kind === "placeholder") {
      const placeholderMessages = markPlaceholder(
        message,
        values,
        recorded.slice(markedMessages.length),
      );
      if (placeholderMessages === undefined) {
        return undefined;
      }
      markedMessages.push(...placeholderMessages);
    } else {
      const sent = recorded[markedMessages.length];
      const parts = fillParts(message.parts, format, values);
      if (sent === undefined || parts === undefined || !isSameMessage(message.role, parts, sent)) {
        return undefined;
      }
      markedMessages.push({ role: sent.role, pieces: mergePieces(parts) });
    }
  }
  const hasVariable = markedMessages.some(({ pieces }) =>
    pieces.some(({ variable }) => variable !== undefined),
  );
  return hasVariable ? markedMessages : undefined;
}

/** The pieces of a text; `undefined` for a part that is not a text. */
type FilledPart = readonly FilledPiece[] | undefined;

/** Fills in the parts of a message; `undefined` if one of its texts can't be filled in. */
function fillParts(
  parts: readonly PromptPart[],
  format: PromptContent["format"],
  values: TemplateValues,
): readonly FilledPart[] | undefined {
  const filledParts: FilledPart[] = [];
  for (const part of parts) {
    const pieces = part.kind === "text" ? fillPieces(part.text, format, values) : undefined;
    if (part.kind === "text" && pieces === undefined) {
      return undefined;
    }
    filledParts.push(pieces);
  }
  return filledParts;
}

function isSameMessage(role: string, parts: readonly FilledPart[], sent: ChatMessage): boolean {
  return (
    isSameRole(role, sent.role) &&
    parts.length === sent.parts.length &&
    parts.every((pieces, index) => {
      const part = sent.parts[index];
      return pieces === undefined
        ? part?.kind !== "text"
        : part?.kind === "text" && part.text === pieces.map(({ text }) => text).join("");
    })
  );
}

const rolesByName: Readonly<Record<string, readonly string[]>> = {
  system: ["system", "developer"],
  human: ["user"],
  [templateRole]: ["user"],
  ai: ["assistant"],
};

const isSameRole = (role: string, sentRole: string): boolean =>
  (rolesByName[role] ?? [role]).includes(sentRole);

/** Joins the texts of a message with line breaks. A note stands for each part that is not a text. */
const mergePieces = (parts: readonly FilledPart[]): readonly FilledPiece[] =>
  parts.flatMap((pieces, index) => [
    ...(index === 0 ? [] : [{ text: "\n" }]),
    ...(pieces ?? [{ text: "[a part that is not a text]" }]),
  ]);

function markPlaceholder(
  { variable, isOptional }: { readonly variable: string; readonly isOptional: boolean },
  values: TemplateValues,
  recorded: readonly ChatMessage[],
): readonly MarkedMessage[] | undefined {
  const value = Object.hasOwn(values, variable) ? values[variable] : undefined;
  if (value === undefined || value === null) {
    return isOptional ? [] : undefined;
  }
  const list = Array.isArray(value) ? value : undefined;
  const expected = list?.length === 0 ? [] : toChatMessages(list);
  if (expected === undefined || expected.length !== list?.length) {
    return undefined;
  }
  const sent = recorded.slice(0, expected.length);
  const isEqual = JSON.stringify(expected) === JSON.stringify(sent);
  return isEqual
    ? sent.map(({ role, parts }) => ({
        role,
        pieces: [{ text: parts.map(toPartText).join("\n"), variable }],
      }))
    : undefined;
}

const toPartText = (part: ChatMessage["parts"][number]): string =>
  part.kind === "text" ? part.text : `[${part.kind}]`;

/** The commit of the prompt that a run used. */
export interface PromptReference {
  readonly address: { readonly owner: string; readonly repo: string };
  readonly commit: string;
}

/**
 * Reads from the metadata of a run which prompt the run used. LangChain, the SDK, and the server for its own calls
 * record the prompt there.
 */
export function readPromptReference(metadata: unknown): PromptReference | undefined {
  const members = toRecord(metadata);
  const repo = toText(members["lc_hub_repo"]);
  const commit = toText(members["lc_hub_commit_hash"]);
  if (repo !== undefined && commit !== undefined) {
    const owner = toText(members["lc_hub_owner"]) ?? "-";
    return isName(owner) && isName(repo) && isHash(commit)
      ? { address: { owner, repo }, commit }
      : undefined;
  }
  const match = /^(?:([^/:]+)\/)?([^/:]+):([^/:]+)$/.exec(toText(members["prompt"]) ?? "");
  const [, owner = "-", name = "", hash = ""] = match ?? [];
  return match !== null && isName(owner) && isName(name) && isHash(hash)
    ? { address: { owner, repo: name }, commit: hash }
    : undefined;
}

/**
 * Reads the values of variables from the inputs of a run. A variable has the value of the input with the same name,
 * unless the metadata of an experiment's call maps the variable to another member.
 */
export function readVariableValues(inputs: unknown, metadata: unknown): TemplateValues {
  const values = toRecord(inputs);
  const mappedValues = Object.entries(toRecord(toRecord(metadata)["prompt_mapping"])).map(
    ([name, path]) => [name, readPath({ inputs: values }, toText(path) ?? "")],
  );
  return { ...values, ...(Object.fromEntries(mappedValues) as TemplateValues) };
}

const readPath = (value: unknown, path: string): unknown =>
  path
    .split(".")
    .reduce(
      (current, name) =>
        typeof current === "object" && current !== null && Object.hasOwn(current, name)
          ? (Reflect.get(current, name) as unknown)
          : undefined,
      value,
    );

const isName = (text: string): boolean => /^(?:-|[\w-]{1,100})$/.test(text);
/** Whether a text is a commit hash. Tags are not accepted, because a tag may have moved since the run. */
const isHash = (text: string): boolean => /^[\da-f]{7,64}$/i.test(text);
