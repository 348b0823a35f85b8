import { once } from "node:events";
import { setImmediate } from "node:timers/promises";
import type { Message } from "./prompt.ts";

/** A model: takes a prompt, streams the answer token by token, and gives up with the signal. */
export type Model = (messages: readonly Message[], signal: AbortSignal) => AsyncIterable<string>;

const sentenceLimit = 6;

/** Answers on this machine: streams the sentences of the sources that fit the question best. */
export async function* extractiveModel(
  messages: readonly Message[],
  signal: AbortSignal,
): AsyncGenerator<string> {
  for (const sentence of bestSentences(messages.at(-1)?.content ?? "")) {
    // Once per sentence the other requests get their turn, as they would behind a real stream.
    await setImmediate(undefined, { signal });
    for (const word of sentence.split(" ")) {
      yield `${word} `;
    }
  }
}

/** A model that never answers, to show what a time-out looks like in a trace. */
// oxlint-disable-next-line require-yield -- that is the point
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
  const wanted = new Set(words(question));
  const counts = new Map<string, number>();
  const found = sentences.map((sentence) => {
    const shared = new Set(words(sentence).filter((word) => wanted.has(word)));
    for (const word of shared) {
      counts.set(word, (counts.get(word) ?? 0) + 1);
    }
    return { sentence, shared };
  });
  const scored = found.map(({ sentence, shared }, index) => {
    let score = 0;
    for (const word of shared) {
      score += Math.log(1 + sentences.length / (counts.get(word) ?? 1));
    }
    return { sentence, index, score };
  });
  const best = scored
    .toSorted((a, b) => b.score - a.score || a.index - b.index)
    .slice(0, sentenceLimit);
  const inOrder = best.toSorted((a, b) => a.index - b.index);
  return inOrder.map(({ sentence }) => sentence);
};

/** Every sentence of the sources, its source's number behind it. */
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

const words = (text: string): string[] => text.toLowerCase().match(/[\p{L}\p{N}]{3,}/gu) ?? [];

const splitLast = (text: string, separator: string): string[] => {
  const at = text.lastIndexOf(separator);
  return at === -1 ? [text] : [text.slice(0, at), text.slice(at + separator.length)];
};
