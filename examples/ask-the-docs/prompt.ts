import type { Section } from "./corpus.ts";

/** One message of a chat, in the form that chat models expect. */
export interface Message {
  readonly role: "system" | "user";
  readonly content: string;
}

const instructions = `You answer questions about software from its documentation.
Use only the sources below. Quote them where you can, and put the number of the source, such as [1], behind every sentence.
If the sources do not answer the question, say so.`;

/** Combines the question, the page on which it was asked and the found sections into one prompt. */
export const assemblePrompt = (
  question: string,
  page: string,
  sections: readonly Section[],
): Message[] => {
  const sources = sections.map(
    ({ path, line, title, text }, index) => `[${index + 1}] ${title} (${path}:${line})\n${text}`,
  );
  return [
    { role: "system", content: instructions },
    {
      role: "user",
      content: `Page:\n${page}\n\nSources:\n${sources.join("\n")}\n\nQuestion: ${question}`,
    },
  ];
};
