import licences from "spdx-license-list/full.js";

/** A paragraph, and the licence in which it was found. */
export interface Paragraph {
  readonly text: string;
  /** The licence's name in the SPDX list, such as `MIT`. */
  readonly licence: string;
  readonly title: string;
}

/** A paragraph shorter than this occurs in too many licences. */
const minLength = 120;
/** One paragraph of so many is a question; the others are what the program may search. */
const questionInterval = 40;

/** The paragraphs of the licences that are approved by the OSI: those to search, and those to ask about. */
export function readParagraphs(): {
  readonly known: readonly Paragraph[];
  readonly questions: readonly Paragraph[];
} {
  const paragraphs = Object.entries(licences)
    .filter(([, { osiApproved }]) => osiApproved)
    .flatMap(([licence, { name: title, licenseText }]) =>
      licenseText
        .split(/\n\s*\n/)
        .map((text) => ({ text: text.replaceAll(/\s+/g, " ").trim(), licence, title })),
    )
    .filter(({ text }) => text.length >= minLength);
  return {
    known: paragraphs.filter((_, index) => index % questionInterval !== 0),
    questions: paragraphs.filter((_, index) => index % questionInterval === 0),
  };
}
