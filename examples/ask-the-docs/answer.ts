import { once } from "node:events";
import { setImmediate } from "node:timers/promises";
import type { Message } from "./prompt.ts";

/** A model: receives a prompt, streams the answer token by token, and stops when the signal aborts. */
export type Model = (messages: readonly Message[], signal: AbortSignal) => AsyncIterable<string>;

const sentenceLimit = 6;

/** A model that runs on this machine: it streams the sentences of the sources that match the question best. */
export async function* extractiveModel(
  messages: readonly Message[],
  signal: AbortSignal,
): AsyncGenerator<string> {
  for (const sentence of bestSentences(messages.at(-1)?.content ?? "")) {
    // Yield to other requests after each sentence, as a real stream would.
    await setImmediate(undefined, { signal });
    for (const word of sentence.split(" ")) {
      yield `${word} `;
    }
  }
}

/** A model that never responds, to show what a timeout looks like in a trace. */
// oxlint-disable-next-line require-yield -- this generator must never yield
export async function* stalledModel(
  _messages: readonly Message[],
  signal: AbortSignal,
): AsyncGenerator<string> {
  await once(signal, "abort");
  signal.throwIfAborted();
}

/** The sentences that share the rarest words with the question, in the order of the sources. */
export const bestSentences = (prompt: string): string[] => {
  const [body = "", question = ""] = splitLast(prompt, "\n\nQuestion: ");
  const sentences = citeSentences(splitLast(body, "\n\nSources:\n")[1] ?? "");
  const questionWords = new Set(extractWords(question));
  const counts = new Map<string, number>();
  const matches = sentences.map((sentence) => {
    const shared = new Set(extractWords(sentence).filter((word) => questionWords.has(word)));
    for (const word of shared) {
      counts.set(word, (counts.get(word) ?? 0) + 1);
    }
    return { sentence, shared };
  });
  const scored = matches.map(({ sentence, shared }, index) => {
    let score = 0;
    for (const word of shared) {
      score += Math.log(1 + sentences.length / (counts.get(word) ?? 1));
    }
    return { sentence, index, score };
  });
  const bestMatches = scored
    .toSorted((a, b) => b.score - a.score || a.index - b.index)
    .slice(0, sentenceLimit);
  const inOrder = bestMatches.toSorted((a, b) => a.index - b.index);
  return inOrder.map(({ sentence }) => sentence);
};

/** All sentences of the sources, each followed by the number of its source. */
const citeSentences = (sources: string): string[] => {
  const sentences: string[] = [];
  let source = 0;
  for (const line of sources.split("\n")) {
    if (line.startsWith(`[${source + 1}] `)) {
      source += 1;
    } else {
      for (const part of line.split(/(?<=[.!?])\s+/)) {
        const text = part.trim();
        if (text.length >= 40 && text.length <= 400) {
          sentences.push(`${text} [${source}]`);
        }
      }
    }
  }
  return sentences;
};

const extractWords = (text: string): string[] =>
  text.toLowerCase().match(/[\p{L}\p{N}]{3,}/gu) ?? [];

const splitLast = (text: string, separator: string): string[] => {
  const index = text.lastIndexOf(separator);
  return index === -1 ? [text] : [text.slice(0, index), text.slice(index + separator.length)];
};
