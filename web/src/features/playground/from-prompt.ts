import { toRecord, toText } from "../../api/parse.ts";
import { applyDraft, toManifest } from "../prompts/manifest-edit.ts";
import type { PromptDraft } from "../prompts/manifest-edit.ts";
import { templateRole, toManifestText, toPromptContent } from "../prompts/manifest.ts";
import type { PromptMessage } from "../prompts/manifest.ts";
import { createMessage, createState } from "./playground-state.ts";
import type {
  MessageRole,
  PlaygroundMessage,
  PlaygroundSource,
  PlaygroundState,
} from "./playground-state.ts";

type PromptSource = Extract<PlaygroundSource, { readonly kind: "prompt" }>;

const rolesByName: Readonly<Record<string, MessageRole>> = {
  system: "system",
  human: "user",
  user: "user",
  ai: "assistant",
  assistant: "assistant",
  [templateRole]: "user",
};

/** Converts a prompt of the hub. */
export function promptToState(source: PromptSource): PlaygroundState {
  const content = toPromptContent(source.manifest);
  if (content === undefined) {
    return createState({
      source,
      format: "none",
      messages: [createMessage("user", toManifestText(source.manifest))],
      notes: ["The manifest of this prompt has an unknown format. Its JSON is shown as a message."],
    });
  }
  const { model } = toRecord(toRecord(toRecord(content.model)["kwargs"])["bound"] ?? {});
  return createState({
    source,
    format: content.format,
    messages: content.messages.map(toPlaygroundMessage),
    schemaText: content.schema === undefined ? "" : toManifestText(content.schema),
    targets: [
      {
        id: crypto.randomUUID(),
        endpoint: "",
        model: toText(model) ?? readModelName(content.model),
      },
    ],
    notes:
      content.format === "jinja2"
        ? ["Of Jinja2, only variables are replaced: blocks and filters are sent as written."]
        : [],
  });
}

/** The name of the model that was saved with the prompt; empty if there is none. */
function readModelName(model: unknown): string {
  const kwargs = toRecord(toRecord(model)["kwargs"]);
  return (
    toText(kwargs["model"]) ?? toText(kwargs["model_name"]) ?? toText(kwargs["modelName"]) ?? ""
  );
}

function toPlaygroundMessage(message: PromptMessage): PlaygroundMessage {
  if (message.kind === "placeholder") {
    return createMessage("placeholder", message.variable);
  }
  const texts = message.parts.flatMap((part) => {
    if (part.kind === "image") {
      return [];
    }
    return [part.kind === "text" ? part.text : JSON.stringify(part.value)];
  });
  const images = message.parts.flatMap((part) => (part.kind === "image" ? [part.text] : []));
  return createMessage(rolesByName[message.role] ?? "user", texts.join("\n"), { images });
}

/** Why the messages can't become a prompt; `undefined` if they can. */
export function findPromptFault({ messages }: PlaygroundState): string | undefined {
  const number =
    messages.findIndex(
      ({ role, toolCalls, images }) => role === "tool" || toolCalls.length + images.length > 0,
    ) + 1;
  return number === 0
    ? undefined
    : `Message ${number} has a tool call, a tool result or an image, which a prompt can't contain here. Remove it first.`;
}

const promptRoles: Readonly<Record<MessageRole, string>> = {
  system: "system",
  user: "human",
  assistant: "ai",
  tool: "human",
  placeholder: "placeholder",
};

/**
 * Converts the messages to a manifest. Based on an existing one, its other members, such as its model, stay unchanged.
 */
export function stateToManifest(state: PlaygroundState, base: unknown): object {
  const { format, messages } = state;
  const baseKind = base === undefined ? undefined : toPromptContent(base)?.kind;
  const kind = baseKind === "text" && messages.length === 1 ? "text" : "chat";
  const draft: PromptDraft = {
    kind: baseKind === "structured" ? "structured" : kind,
    format: format === "none" ? "f-string" : format,
    messages: messages.map(({ id, role, text }) => ({
      id,
      role: promptRoles[role],
      text: format === "none" ? escapeBraces(text) : text,
    })),
  };
  return baseKind === undefined ? toManifest(draft) : applyDraft(base, draft);
}

/** Braces of a text without variables, which would begin a variable in a prompt. */
const escapeBraces = (text: string): string => text.replaceAll(/[{}]/g, "$&$&");
