import MiniSearch from "minisearch";
import type { Section } from "./corpus.ts";
import { isStopWord } from "./stop-words.ts";

/** Maximum size of the text that a retrieval of whole files returns, so that no run exceeds 200 kB. */
const maxFilesBytes = 80_000;

/** A search index over the sections of the corpus. */
export class Library {
  readonly #index = new MiniSearch<Section>({
    fields: ["title", "text"],
    processTerm: (term) => (term.length < 2 || isStopWord(term) ? undefined : term.toLowerCase()),
  });
  readonly #sections: readonly Section[];
  readonly #sectionsByPath = new Map<string, Section[]>();

  constructor(sections: readonly Section[]) {
    this.#sections = sections;
    this.#index.addAll(sections);
    for (const section of sections) {
      const file = this.#sectionsByPath.get(section.path);
      if (file === undefined) {
        this.#sectionsByPath.set(section.path, [section]);
      } else {
        file.push(section);
      }
    }
  }

  /** The best `limit` sections, the best one first. */
  find(query: string, limit: number): Section[] {
    const hits = this.#index.search(query, { boost: { title: 2 } }).slice(0, limit);
    return hits.flatMap((hit) => this.#sections[hit.id as number] ?? []);
  }

  /** All sections of the files with the best hits, as many as fit into one prompt. */
  findFiles(query: string): Section[] {
    const selected: Section[] = [];
    let sizeBytes = 0;
    const paths = new Set(this.find(query, 100).map((section) => section.path));
    for (const section of [...paths].flatMap((path) => this.#sectionsByPath.get(path) ?? [])) {
      sizeBytes += Buffer.byteLength(section.text);
      if (sizeBytes > maxFilesBytes) {
        break;
      }
      selected.push(section);
    }
    return selected;
  }
}
