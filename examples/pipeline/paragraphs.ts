import licences from "spdx-license-list/full.js";

/** One paragraph of a license. */
export interface Paragraph {
  readonly text: string;
  /** The license's name in the SPDX list, such as `MIT`. */
  readonly licence: string;
  readonly title: string;
  /** The paragraph's number in the license, from 1. */
  readonly number: number;
  readonly isApproved: boolean;
}

/** Generates the paragraphs of all licenses, always in the same order. */
export function* paragraphs(): Generator<Paragraph> {
  for (const [licence, { name: title, licenseText, osiApproved: isApproved }] of Object.entries(
    licences,
  )) {
    const texts = licenseText
      .split(/\n\s*\n/)
      .map((text) => text.replaceAll(/\s+/g, " ").trim())
      .filter((text) => text !== "");
    for (const [index, text] of texts.entries()) {
      yield { text, licence, title, number: index + 1, isApproved };
    }
  }
}
