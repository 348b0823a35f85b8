/** The text of `src/workers/json/runtime-facts-module.ts`. */
export function renderRuntimeFacts(): string;
