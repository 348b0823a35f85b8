import MiniSearch from "minisearch";
import { traceable } from "millrace";
import type { Paragraph } from "./paragraphs.ts";

/** What the program under evaluation gets and returns. */
export interface Question {
  readonly text: string;
}
export interface Guess {
  readonly licence: string;
  /** The five most probable licences, the best first. */
  readonly candidates: readonly string[];
}

/**
 * Creates a program that guesses from which licence a paragraph is: the one with the most similar paragraph. `fields` says
 * what is compared, and is what the two versions of the program differ in.
 */
export function createGuesser(
  known: readonly Paragraph[],
  fields: readonly ("text" | "title")[],
): (question: Question) => Guess {
  const index = new MiniSearch<Paragraph & { readonly id: number }>({
    fields: [...fields],
    storeFields: ["licence"],
  });
  index.addAll(known.map((paragraph, id) => ({ ...paragraph, id })));
  // A step of its own, so that the trace of each row shows what was found.
  const search = traceable(
    (text: string): string[] =>
      index.search(selectWords(text)).map(({ licence }) => String(licence)),
    { name: "search", runType: "retriever" },
  );
  return function guessLicence({ text }) {
    const candidates = [...new Set(search(text))].slice(0, 5);
    return { licence: candidates[0] ?? "", candidates };
  };
}

/** Number of words that are searched for. */
const wordLimit = 10;

/** The longest words of a text: the rarest ones, mostly. */
const selectWords = (text: string): string =>
  [...new Set(text.split(/\W+/))]
    .toSorted((left, right) => right.length - left.length)
    .slice(0, wordLimit)
    .join(" ");
