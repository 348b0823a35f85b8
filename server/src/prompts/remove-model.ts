/** Classes of LangChain that are prompts. */
const promptClasses: ReadonlySet<unknown> = new Set([
  "ChatPromptTemplate",
  "PromptTemplate",
  "StructuredPrompt",
]);

/**
 * Removes the model from a manifest in which a prompt was saved together with a model, and returns the JSON of the
 * prompt alone. To load a manifest with a model, a client needs the package of that model. Any other manifest is
 * returned unchanged.
 */
export function removeModel(manifest: string): string {
  if (!manifest.includes('"RunnableSequence"')) {
    return manifest;
  }
  const sequence: unknown = JSON.parse(manifest);
  const { first } = readMembers(readMembers(sequence)["kwargs"]);
  return readClass(sequence) === "RunnableSequence" && promptClasses.has(readClass(first))
    ? JSON.stringify(first)
    : manifest;
}

/** The name of the class of a serialized node: the last item of its `id`. */
const readClass = (node: unknown): unknown => {
  const { lc, id } = readMembers(node);
  return lc === undefined || !Array.isArray(id) ? undefined : id.at(-1);
};

const readMembers = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
