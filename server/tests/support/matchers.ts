import { expect } from "vitest";

/** Typed asymmetric matchers, because those of vitest are `any`. */
export const containing = (text: string): unknown => expect.stringContaining(text) as unknown;
export const matching = (pattern: RegExp): unknown => expect.stringMatching(pattern) as unknown;
export const anyText = (): unknown => expect.any(String) as unknown;
