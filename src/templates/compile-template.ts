import { ValidationError } from "../model/errors.ts";
import type { KeyValues } from "../model/run.ts";
import { omitUndefined } from "./compiled-prompt.ts";
import type { CompiledPrompt, PromptMessage, PromptPart } from "./compiled-prompt.ts";
import type { JsonTemplate, MessageTemplate, PartTemplate, PromptTemplate } from "./manifest.ts";
import { describe, parseMessages, parsePart } from "./message-values.ts";
import { renderTemplate } from "./template.ts";
import type { Scope, Template } from "./template.ts";

/**
 * Replaces the variables of a parsed prompt with values.
 *
 * @throws `ValidationError` if variables are missing or unused (the message names them), or if a value can't be
 * converted to a text or a list of messages.
 */
export function compileTemplate(
  { messages, partials, schema, model }: PromptTemplate,
  variables: KeyValues,
  unused: "error" | "ignore",
): CompiledPrompt {
  // `Object.fromEntries` defines members instead of assigning them, so that `__proto__` is an ordinary name.
  const givenVariables = Object.entries(variables).filter(([, value]) => value !== undefined);
  const values = Object.fromEntries([...Object.entries(partials), ...givenVariables]);
  const scope: Scope = { values, missing: new Set() };
  const compiled = messages.flatMap((message) => compileMessage(message, scope));
  const names = readNames({ messages });
  const superfluous =
    unused === "ignore"
      ? []
      : givenVariables.map(([name]) => name).filter((name) => !names.has(name));
  if (scope.missing.size > 0 || superfluous.length > 0) {
    throw new ValidationError(describeMismatch({ names, superfluous, missing: scope.missing }));
  }
  return { messages: compiled, ...omitUndefined({ schema, model }) };
}

/** The difference between the variables that a prompt uses and those that the caller passed. */
interface Mismatch {
  readonly names: ReadonlySet<string>;
  readonly superfluous: readonly string[];
  readonly missing: ReadonlySet<string>;
}

/** Maximum number of variable names that an error message lists. */
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

/** Returns the names of all variables, in the order of their first use. */
export function readNames({ messages }: Pick<PromptTemplate, "messages">): ReadonlySet<string> {
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
