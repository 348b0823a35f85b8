import { applyDraft, applySchema, toManifest } from "../prompts/manifest/manifest-edit.ts";
import type { PromptDraft } from "../prompts/manifest/manifest-edit.ts";
import { toNode } from "../prompts/manifest/manifest-node.ts";
import { templateRole, toManifestText, toPromptContent } from "../prompts/manifest/manifest.ts";
import type { PromptMessage } from "../prompts/manifest/manifest.ts";
import { combineWithModel } from "../prompts/manifest/model-edit.ts";
import type { ModelClass } from "../prompts/manifest/model-edit.ts";
import { modelNumbers } from "../prompts/manifest/prompt-model.ts";
import type { ModelNumber, PromptModel } from "../prompts/manifest/prompt-model.ts";
import { findSettingFault, parseSchema, parseTools } from "./playground-request.ts";
import { createMessage, createState } from "./playground-state.ts";
import type {
  EnteredSettings,
  MessageRole,
  PlaygroundMessage,
  PlaygroundSource,
  PlaygroundState,
} from "./playground-state.ts";

export type PromptSource = Extract<PlaygroundSource, { readonly kind: "prompt" }>;

const rolesByName: Readonly<Record<string, MessageRole>> = {
  system: "system",
  human: "user",
  user: "user",
  ai: "assistant",
  assistant: "assistant",
  [templateRole]: "user",
};

/** Converts a prompt to a state of the playground. */
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
  const { model } = content;
  return createState({
    source,
    format: content.format,
    messages: content.messages.map(toPlaygroundMessage),
    schemaText: content.schema === undefined ? "" : toManifestText(content.schema),
    toolsText: model === undefined || model.tools.length === 0 ? "" : toManifestText(model.tools),
    ...(model === undefined ? {} : { settings: toEnteredSettings(model) }),
    targets: [{ id: crypto.randomUUID(), endpoint: "", model: model?.name ?? "" }],
    notes: [
      ...(content.format === "jinja2"
        ? [
            "In Jinja2 templates, only variables are replaced. Blocks and filters are sent as written.",
          ]
        : []),
      ...(model === undefined ? [] : describeOtherParameters(model)),
    ],
  });
}

const toEnteredSettings = ({ numbers, stop }: PromptModel): EnteredSettings => ({
  ...(Object.fromEntries(modelNumbers.map((name) => [name, String(numbers[name] ?? "")])) as Record<
    ModelNumber,
    string
  >),
  stop: stop.join("\n"),
});

/**
 * Returns a note that names the model parameters that the playground does not send. They are kept when the prompt is
 * saved.
 */
function describeOtherParameters({ others }: PromptModel): readonly string[] {
  const names = Object.entries(others)
    .filter(([, value]) => !(typeof value === "string" && value.startsWith("secret ")))
    .map(([name]) => name);
  return names.length === 0
    ? []
    : [
        `The playground does not send these parameters, but keeps them in the prompt: ${names.slice(0, 20).join(", ")}.`,
      ];
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

/** Returns why the state can't be saved as a prompt; `undefined` if it can be. */
export function findPromptFault(state: PlaygroundState): string | undefined {
  const { messages, toolsText, schemaText, settings } = state;
  const messageNumber =
    messages.findIndex(
      ({ role, toolCalls, images }) => role === "tool" || toolCalls.length + images.length > 0,
    ) + 1;
  if (messageNumber > 0) {
    return `Message ${messageNumber} has a tool call, a tool result or an image, which the playground can't save in a prompt. Remove it first.`;
  }
  const [toolFault] = parseTools(toolsText).faults;
  const [schemaFault] = parseSchema(schemaText).faults;
  if (toolFault !== undefined || schemaFault !== undefined) {
    return `Correct the ${toolFault === undefined ? "output schema" : "tools"} first.`;
  }
  if (modelNumbers.some((name) => findSettingFault(name, settings[name]) !== undefined)) {
    return "Correct the settings first.";
  }
  const model = toModelDraft(state, "ChatOpenAI");
  return model === undefined || model.name !== ""
    ? undefined
    : "Enter a model, because the tools and settings are saved with it.";
}

/** The model with its settings and tools; `undefined` if none of them was entered. */
export function toModelDraft(
  { targets, settings, toolsText }: PlaygroundState,
  className: ModelClass,
) {
  const [target] = targets;
  const name = target?.model.trim() ?? "";
  const numbers = Object.fromEntries(
    modelNumbers.flatMap((setting) => {
      const text = settings[setting].trim();
      return text === "" ? [] : [[setting, Number(text)]];
    }),
  );
  const stop = settings.stop.split("\n").filter((line) => line !== "");
  const tools = toolsText.trim() === "" ? [] : (JSON.parse(toolsText) as readonly unknown[]);
  const isEmpty =
    name === "" && Object.keys(numbers).length === 0 && stop.length + tools.length === 0;
  return isEmpty ? undefined : { className, name, numbers, stop, tools };
}

const promptRoles: Readonly<Record<MessageRole, string>> = {
  system: "system",
  user: "human",
  assistant: "ai",
  tool: "human",
  placeholder: "placeholder",
};

/**
 * Converts the messages, the output schema, and the model with its settings and tools to a manifest. If `base` is an
 * existing manifest, its other members are kept.
 *
 * @param className - the LangChain class of the model if `base` does not contain it
 */
export function stateToManifest(
  state: PlaygroundState,
  base: unknown,
  className: ModelClass,
): object {
  const { format, messages, schemaText } = state;
  const { schema } = parseSchema(schemaText);
  const baseContent = base === undefined ? undefined : toPromptContent(base);
  const baseKind = baseContent?.kind;
  const kind =
    baseKind === "text" && messages.length === 1 && schema === undefined ? "text" : "chat";
  const draft: PromptDraft = {
    kind: baseKind === "structured" ? "structured" : kind,
    format: format === "none" ? "f-string" : format,
    messages: messages.map(({ id, role, text }) => ({
      id,
      role: promptRoles[role],
      text: format === "none" ? escapeBraces(text) : text,
    })),
  };
  const node = toNode(base);
  const basePrompt = node?.name === "RunnableSequence" ? node.kwargs["first"] : base;
  const prompt = baseKind === undefined ? toManifest(draft) : applyDraft(basePrompt, draft);
  const model = toModelDraft(state, className);
  return combineWithModel(
    draft.kind === "text" ? prompt : applySchema(prompt, schema),
    baseKind === undefined ? undefined : base,
    model,
  );
}

/**
 * Whether the playground has the messages, tools, output schema and settings of the prompt that was opened or saved
 * last. Its models are not compared, because an experiment chooses models of its own.
 */
export function hasSavedPrompt(state: PlaygroundState): boolean {
  const { source } = state;
  if (source?.kind !== "prompt") {
    return false;
  }
  const savedState = { ...promptToState(source), targets: state.targets };
  return (
    toContentText(state) === toContentText(savedState) ||
    // A saved prompt can be read back as other texts with the same meaning, for example because its tools are JSON.
    (findPromptFault(state) === undefined &&
      toSavedText(state, source) === toSavedText(savedState, source))
  );
}

const toContentText = ({ messages, format, toolsText, schemaText, settings }: PlaygroundState) =>
  JSON.stringify([
    messages.map(({ id: _id, ...message }) => message),
    format,
    toolsText,
    schemaText,
    settings,
  ]);

const toSavedText = (state: PlaygroundState, { manifest }: PromptSource): string =>
  JSON.stringify(stateToManifest(state, manifest, "ChatOpenAI"));

/** Doubles the braces of a text without variables, because a single brace would begin a variable in a prompt. */
const escapeBraces = (text: string): string => text.replaceAll(/[{}]/g, "$&$&");
