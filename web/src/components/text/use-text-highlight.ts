import { useEffect } from "react";
import type { RefObject } from "react";

/** The name of the highlight, whose colors are in markdown.css. */
const highlightName = "search-match";
const maxRanges = 1_000;
/** In a longer text of one element only the beginning is searched. */
const maxTextChars = 100_000;
const minSearchChars = 2;

/**
 * Marks a text, in any case, wherever it is shown in an element, also in what the element shows later. Nothing is added
 * to the document: the browser paints the ranges. Browsers without this feature show no marks.
 */
export function useTextHighlight(ref: RefObject<HTMLElement | null>, searchText: string): void {
  const needle = searchText.trim().toLowerCase();
  useEffect(() => {
    const element = ref.current;
    const { highlights } = globalThis.CSS as Partial<typeof CSS>;
    if (element === null || highlights === undefined || needle.length < minSearchChars) {
      return undefined;
    }
    let frame = 0;
    const mark = (): void => {
      highlights.set(highlightName, new Highlight(...findRanges(element, needle)));
    };
    const observer = new MutationObserver(() => {
      cancelAnimationFrame(frame);
      frame = requestAnimationFrame(mark);
    });
    observer.observe(element, { childList: true, characterData: true, subtree: true });
    mark();
    return () => {
      cancelAnimationFrame(frame);
      observer.disconnect();
      highlights.delete(highlightName);
    };
  }, [ref, needle]);
}

function findRanges(element: HTMLElement, needle: string): readonly Range[] {
  const ranges: Range[] = [];
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
    const text = (node.nodeValue ?? "").slice(0, maxTextChars);
    const lower = text.toLowerCase();
    // If lower-casing changes the length of the text, offsets in it are wrong for the text.
    const haystack = lower.length === text.length ? lower : "";
    for (
      let at = haystack.indexOf(needle);
      at >= 0 && ranges.length < maxRanges;
      at = haystack.indexOf(needle, at + needle.length)
    ) {
      const range = new Range();
      range.setStart(node, at);
      range.setEnd(node, at + needle.length);
      ranges.push(range);
    }
  }
  return ranges;
}
