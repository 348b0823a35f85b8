import { currentRun, SdkError, ValidationError } from "../../main/index.ts";
import type { KeyValues, PulledPrompt, RuntimePrompt } from "../../main/index.ts";
import { isObject, omitUndefined } from "./compiled-prompt.ts";
import type {
  CompiledPrompt,
  PromptIdentity,
  PromptMessage,
  PromptPart,
} from "./compiled-prompt.ts";
import { parseManifest } from "./manifest.ts";
import type { JsonTemplate, MessageTemplate, PartTemplate, PromptTemplate } from "./manifest.ts";
import { describe, parseMessages, parsePart } from "./message-values.ts";
import { toPromptMetadata } from "./prompt-metadata.ts";
import { renderTemplate } from "./template.ts";
import type { Scope, Template } from "./template.ts";

/** A prompt that `prompts.get` or `prompts.pull` returned, a manifest, or a prompt of LangChain. */
export type PromptSourceValue = RuntimePrompt | PulledPrompt | object;

/** Options of {@link compile}. */
export interface CompileOptions {
  /** What to do about a variable that the prompt does not use. @defaultValue "error" */
  readonly unused?: "error" | "ignore" | undefined;
}

/**
 * Replaces the variables of a prompt with values. If there is a current run, the prompt's name and commit are added to
 * its metadata.
 *
 * @throws `ValidationError` if variables are missing or unused, which the message names; if a value can't be a
 * text or a list of messages; or if the manifest is not a prompt.
 */
export function compile(
  prompt: PromptSourceValue,
  variables: KeyValues = {},
  { unused = "error", ...others }: CompileOptions = {},
): CompiledPrompt {
  assertArguments(variables, unused, others);
  const identity = readIdentity(prompt);
  const subject = describePrompt(identity);
  try {
    const template = readTemplate(prompt);
    const compiled = compileTemplate(template, variables, unused);
    if (identity === undefined) {
      return compiled;
    }
    currentRun()?.addMetadata(toPromptMetadata(identity));
    return { ...compiled, prompt: identity };
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw cause instanceof SdkError && !(cause instanceof ValidationError)
      ? cause
      : new ValidationError(`Failed to compile ${subject}: ${reason}`, { cause });
  }
}

/**
 * The names of a prompt's variables, in the order of their first use.
 *
 * @throws `ValidationError` if the manifest is not a prompt.
 */
export const listVariables = (prompt: PromptSourceValue): readonly string[] => [
  ...readNames(readTemplate(prompt)),
];

function assertArguments(variables: unknown, unused: unknown, others: object): void {
  if (!isPlainObject(variables)) {
    throw new ValidationError(
      `compile takes the variables as a plain object, such as { question: "Why?" }, not ${describe(variables)}`,
    );
  }
  const [unknownOption] = Object.keys(others);
  if (unknownOption !== undefined) {
    throw new ValidationError(
      `compile has no option ${describe(unknownOption)}. Its only option is unused`,
    );
  }
  if (unused !== "error" && unused !== "ignore") {
    throw new ValidationError(
      `The option unused of compile must be "error" or "ignore", not ${describe(unused)}`,
    );
  }
}

/** Whether a value is an object of no class. `Object` may be that of another realm. */
function isPlainObject(value: unknown): boolean {
  const prototype: unknown = isObject(value) ? Object.getPrototypeOf(value) : undefined;
  return prototype === null || (isObject(prototype) && Object.getPrototypeOf(prototype) === null);
}

/** The parsed manifests of prompts that `prompts.get` returned. They are frozen, so they can't change. */
const parsedManifests = new WeakMap<object, PromptTemplate>();

function readTemplate(prompt: unknown): PromptTemplate {
  const manifest = readManifest(prompt);
  const isShared = isObject(prompt) && isObject(manifest) && Object.isFrozen(prompt);
  const known = isShared ? parsedManifests.get(manifest) : undefined;
  if (known !== undefined) {
    return known;
  }
  const parsed = parseManifest(manifest);
  if (isShared && Object.isFrozen(manifest)) {
    parsedManifests.set(manifest, parsed);
  }
  return parsed;
}

/** Returns the manifest of a prompt, or the value itself. A prompt of LangChain is serialized by its `toJSON`. */
export function readManifest(prompt: unknown): unknown {
  if (!isObject(prompt)) {
    return prompt;
  }
  if (prompt["lc"] === undefined && isObject(prompt["manifest"])) {
    return prompt["manifest"];
  }
  if (typeof prompt["toJSON"] !== "function") {
    return prompt;
  }
  // Its members have `toJSON` methods too.
  return JSON.parse(JSON.stringify(prompt)) as unknown;
}

/** Returns which prompt this is; `undefined` for a manifest. */
export function readIdentity(prompt: unknown): PromptIdentity | undefined {
  const { owner, repo, commitHash, source, manifest } = (
    isObject(prompt) ? prompt : {}
  ) as Partial<RuntimePrompt>;
  return typeof owner === "string" && typeof repo === "string" && isObject(manifest)
    ? omitUndefined({ owner, repo, commitHash, source })
    : undefined;
}

function describePrompt(identity: PromptIdentity | undefined): string {
  if (identity === undefined) {
    return "the prompt";
  }
  const { owner, repo, commitHash, source } = identity;
  const version = commitHash === undefined ? (source ?? "no commit") : commitHash.slice(0, 8);
  return `the prompt ${owner === "-" ? "" : `${owner}/`}${repo} (${version})`;
}

function compileTemplate(
  { messages, partials, schema, model }: PromptTemplate,
  variables: KeyValues,
  unused: "error" | "ignore",
): CompiledPrompt {
  // Defined instead of assigned, so that `__proto__` is an ordinary name.
  const given = Object.entries(variables).filter(([, value]) => value !== undefined);
  const values = Object.fromEntries([...Object.entries(partials), ...given]);
  const scope: Scope = { values, missing: new Set() };
  const compiled = messages.flatMap((message) => compileMessage(message, scope));
  const names = readNames({ messages });
  const superfluous =
    unused === "ignore" ? [] : given.map(([name]) => name).filter((name) => !names.has(name));
  if (scope.missing.size > 0 || superfluous.length > 0) {
    throw new ValidationError(describeMismatch({ names, superfluous, missing: scope.missing }));
  }
  return { messages: compiled, ...omitUndefined({ schema, model }) };
}

interface Mismatch {
  readonly names: ReadonlySet<string>;
  readonly superfluous: readonly string[];
  readonly missing: ReadonlySet<string>;
}

/** Largest number of names in a message. */
const maxNames = 20;

function describeMismatch({ names, superfluous, missing }: Mismatch): string {
  const faults = [
    ...(missing.size === 0 ? [] : [`missing variables: ${formatNames(missing)}`]),
    ...(superfluous.length === 0
      ? []
      : [
          `unused variables: ${formatNames(superfluous)} (pass { unused: "ignore" } to allow them)`,
        ]),
  ];
  const uses = names.size === 0 ? "It has no variables" : `It uses ${formatNames(names)}`;
  return `${faults.join("; ")}. ${uses}`;
}

function formatNames(names: Iterable<string>): string {
  const all = [...names].map((name) => (/^[\w.-]{1,64}$/.test(name) ? name : describe(name)));
  const shown = all.slice(0, maxNames).join(", ");
  return all.length > maxNames ? `${shown} and ${all.length - maxNames} more` : shown;
}

function compileMessage(message: MessageTemplate, scope: Scope): readonly PromptMessage[] {
  switch (message.kind) {
    case "message":
      return [message.message];
    case "template": {
      const { role, content } = message;
      return [
        {
          role,
          content: isTemplate(content)
            ? renderTemplate(content, scope)
            : content.map((part) => compilePart(part, scope)),
        },
      ];
    }
    case "placeholder":
      return compilePlaceholder(message, scope);
  }
}

function compilePlaceholder(
  { variable, isOptional, limit }: MessageTemplate & { readonly kind: "placeholder" },
  { values, missing }: Scope,
): readonly PromptMessage[] {
  const value = Object.hasOwn(values, variable) ? values[variable] : undefined;
  if (value === undefined || value === null) {
    if (!isOptional) {
      missing.add(variable);
    }
    return [];
  }
  let messages: readonly PromptMessage[];
  try {
    messages = parseMessages(value);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new ValidationError(
      `the variable ${describe(variable)} must be a list of messages: ${reason}`,
      { cause },
    );
  }
  return limit === undefined || limit <= 0 ? messages : messages.slice(-limit);
}

function compilePart(part: PartTemplate, scope: Scope): PromptPart {
  switch (part.kind) {
    case "text": {
      const text = renderTemplate(part.template, scope);
      return { type: "text", text, ...omitUndefined({ extra: part.extra }) };
    }
    case "image": {
      const url = renderTemplate(part.url, scope);
      const detail = part.detail && renderTemplate(part.detail, scope);
      return { type: "image", url, ...omitUndefined({ detail }) };
    }
    case "other":
      return parsePart(compileJson(part.json, scope));
  }
}

function compileJson(json: JsonTemplate, scope: Scope): unknown {
  switch (json.kind) {
    case "text":
      return renderTemplate(json.template, scope);
    case "list":
      return json.items.map((item) => compileJson(item, scope));
    case "object":
      return Object.fromEntries(
        json.members.map(([name, member]) => [name, compileJson(member, scope)]),
      );
    case "value":
      return json.value;
  }
}

/** Returns the names of all variables. */
function readNames({ messages }: Pick<PromptTemplate, "messages">): ReadonlySet<string> {
  const names = new Set<string>();
  for (const message of messages) {
    if (message.kind === "placeholder") {
      names.add(message.variable);
    } else if (message.kind === "template") {
      addNames(listTemplates(message.content), names);
    }
  }
  return names;
}

function addNames(templates: readonly Template[], names: Set<string>): void {
  for (const template of templates) {
    for (const name of template.names) {
      names.add(name);
    }
  }
}

const listTemplates = (content: Template | readonly PartTemplate[]): readonly Template[] =>
  isTemplate(content)
    ? [content]
    : content.flatMap((part) => {
        switch (part.kind) {
          case "text":
            return [part.template];
          case "image":
            return part.detail === undefined ? [part.url] : [part.url, part.detail];
          case "other":
            return listJsonTemplates(part.json);
        }
      });

function listJsonTemplates(json: JsonTemplate): readonly Template[] {
  switch (json.kind) {
    case "text":
      return [json.template];
    case "list":
      return json.items.flatMap(listJsonTemplates);
    case "object":
      return json.members.flatMap(([, member]) => listJsonTemplates(member));
    case "value":
      return [];
  }
}

const isTemplate = (content: Template | readonly PartTemplate[]): content is Template =>
  "nodes" in content;
