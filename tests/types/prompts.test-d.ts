import { expectTypeOf, test } from "vitest";
import type {
  Client,
  Pages,
  Prompt,
  PromptCommit,
  PulledPrompt,
  PushedPrompt,
} from "../../src/main/index.ts";

type Prompts = Client["prompts"];

test("a manifest is an object, and an object is enough", () => {
  const commit = (prompts: Prompts) => prompts.commit("r", { manifest: new Map() });
  expectTypeOf(commit).returns.resolves.toEqualTypeOf<PromptCommit>();
  // @ts-expect-error -- a string is not a manifest
  void ((prompts: Prompts) => prompts.commit("r", { manifest: "text" }));
  // @ts-expect-error -- a commit needs a manifest
  void ((prompts: Prompts) => prompts.commit("r", {}));
});

test("lists are pages of what they list", () => {
  expectTypeOf<Prompts["list"]>().returns.toEqualTypeOf<Pages<Prompt>>();
  expectTypeOf<Prompts["listCommits"]>().returns.toEqualTypeOf<Pages<PromptCommit>>();
});

test("what was pulled can be read and not written", () => {
  expectTypeOf<Prompts["pull"]>().returns.resolves.toEqualTypeOf<PulledPrompt>();
  expectTypeOf<PulledPrompt["manifest"]>().toEqualTypeOf<Readonly<Record<string, unknown>>>();
});

test("a push may have no commit, and always has a page", () => {
  expectTypeOf<PushedPrompt["commitHash"]>().toEqualTypeOf<string | undefined>();
  expectTypeOf<PushedPrompt["url"]>().toEqualTypeOf<string>();
});

test("an update names what it changes, which is not the handle", () => {
  expectTypeOf<Parameters<Prompts["update"]>[1]>().not.toHaveProperty("repo");
  expectTypeOf<Parameters<Prompts["update"]>[1]>().toHaveProperty("isArchived");
});
