import type { Section } from "./corpus.ts";
import { isStopWord } from "./stop-words.ts";

/** The body of a request: a question, asked while reading a page of the documentation. */
export interface Question {
  readonly question: string;
  readonly page: string;
  /** How much to retrieve: a number of sections, or whole files. */
  readonly breadth: number | "files";
  /** Language of the text, for the word count; a BCP 47 tag. */
  readonly language: string;
  /** Whether to use a model that never responds. */
  readonly stalled?: boolean;
}

/** A question and the page that it refers to. {@link planQuestion} selects from these. */
export type Topic = Pick<Question, "question" | "page">;

const questionTemplates = [
  (title: string) => `What does the documentation say about ${title}?`,
  (title: string) => `How is ${title} used, and when?`,
  (title: string) => `Explain ${title} and what to look out for.`,
  (title: string) => `Which options, defaults and errors belong to ${title}?`,
];

/** Creates questions about the headings of the corpus. The same corpus and seed always result in the same questions. */
export const makeTopics = (sections: readonly Section[], count: number, seed: number): Topic[] => {
  const random = createRandom(seed);
  const sectionsWithTopic = sections.filter(({ title }) => hasTopic(title));
  return Array.from({ length: sectionsWithTopic.length === 0 ? 0 : count }, () => {
    const section = pick(sectionsWithTopic, random());
    return { question: pick(questionTemplates, random())(section.title), page: section.text };
  });
};

/** Whether a heading names something to ask about: more than a number, a date or a common word. */
const hasTopic = (title: string): boolean =>
  title.match(/[\p{L}\p{N}]+/gu)?.some((word) => /^\p{L}{4}/u.test(word) && !isStopWord(word)) ??
  false;

/**
 * The question of request number `index`, which is the same in every phase. Most questions retrieve a few sections, some
 * retrieve many, and one in a hundred retrieves whole files. One in a hundred uses a model that never responds, and one in a
 * hundred names a language that does not exist.
 */
export const planQuestion = (topics: readonly Topic[], index: number): Question => {
  const random = createRandom(index);
  const topic = pick(topics, random());
  return {
    ...topic,
    breadth: index % 100 === 7 ? "files" : chooseBreadth(random()),
    language: index % 100 === 42 ? "no such language" : "en",
    ...(index % 100 === 27 ? { stalled: true } : {}),
  };
};

const chooseBreadth = (chance: number): number => {
  if (chance < 0.7) {
    return 2;
  }
  return chance < 0.92 ? 4 : 16;
};

const pick = <Item>(items: readonly Item[], chance: number): Item => {
  const item = items[Math.floor(chance * items.length)];
  if (item === undefined) {
    throw new RangeError("There are no items to pick from.");
  }
  return item;
};

/** The random number generator Mulberry32: numbers in [0, 1) that depend only on the seed. */
const createRandom = (seed: number): (() => number) => {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
};
