import { currentRun, SdkError, ValidationError } from "../../main/index.ts";
import type { KeyValues, PulledPrompt, RuntimePrompt } from "../../main/index.ts";
import { compileTemplate, readNames } from "../../templates/compile-template.ts";
import { isObject, omitUndefined } from "../../templates/compiled-prompt.ts";
import type { CompiledPrompt, PromptIdentity } from "../../templates/compiled-prompt.ts";
import { parseManifest } from "../../templates/manifest.ts";
import type { PromptTemplate } from "../../templates/manifest.ts";
import { describe } from "../../templates/message-values.ts";
import { toPromptMetadata } from "./prompt-metadata.ts";

/** A prompt that `prompts.get` or `prompts.pull` returned, a manifest, or a prompt of LangChain. */
export type PromptSourceValue = RuntimePrompt | PulledPrompt | object;

/** Options of {@link compile}. */
export interface CompileOptions {
  /** How to treat a variable that the prompt does not use: throw an error, or ignore it. @defaultValue "error" */
  readonly unused?: "error" | "ignore" | undefined;
}

/**
 * Replaces the variables of a prompt with values. If there is a current run, the prompt's name and commit are added to
 * its metadata.
 *
 * @throws `ValidationError` if variables are missing or unused (the message contains their names), if a value can't be
 * converted to a string or a list of messages, or if the manifest is not a prompt.
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
 * Returns the names of a prompt's variables, in the order of their first use.
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

/**
 * Whether a value is a plain object, not an instance of a class. It may come from another realm, which has its own
 * `Object`.
 */
function isPlainObject(value: unknown): boolean {
  const prototype: unknown = isObject(value) ? Object.getPrototypeOf(value) : undefined;
  return prototype === null || (isObject(prototype) && Object.getPrototypeOf(prototype) === null);
}

/**
 * Cache of the parsed manifests of prompts that `prompts.get` returned. These manifests are frozen, so they can't
 * change.
 */
const parsedManifests = new WeakMap<object, PromptTemplate>();

function readTemplate(prompt: unknown): PromptTemplate {
  const manifest = readManifest(prompt);
  const isShared = isObject(prompt) && isObject(manifest) && Object.isFrozen(prompt);
  const cachedTemplate = isShared ? parsedManifests.get(manifest) : undefined;
  if (cachedTemplate !== undefined) {
    return cachedTemplate;
  }
  const parsed = parseManifest(manifest);
  if (isShared && Object.isFrozen(manifest)) {
    parsedManifests.set(manifest, parsed);
  }
  return parsed;
}

/**
 * Returns the manifest of a prompt, or the value itself if it has none. A prompt of LangChain is serialized by its
 * `toJSON`.
 */
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
  // `JSON.stringify` also calls the `toJSON` methods of the members.
  return JSON.parse(JSON.stringify(prompt)) as unknown;
}

/** Returns the name, commit and source of a prompt; `undefined` for a manifest without a prompt. */
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
