import { useEffect } from "react";
import type { RefObject } from "react";

/** The name of the highlight, whose colors are in markdown.css. */
const highlightName = "search-match";
const maxRanges = 1_000;
/** The maximum number of characters of one text node that are searched. */
const maxTextChars = 100_000;
const minSearchChars = 2;

/**
 * Highlights each occurrence of a text in an element, ignoring case, including in content that is added later. The
 * document does not change: the browser paints the ranges (CSS Custom Highlight API). A browser without that API
 * highlights nothing.
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
    // If lower-casing changes the length of the text, offsets in `lower` are wrong for `text`, so nothing is searched.
    const searchedText = lower.length === text.length ? lower : "";
    for (
      let matchStart = searchedText.indexOf(needle);
      matchStart >= 0 && ranges.length < maxRanges;
      matchStart = searchedText.indexOf(needle, matchStart + needle.length)
    ) {
      const range = new Range();
      range.setStart(node, matchStart);
      range.setEnd(node, matchStart + needle.length);
      ranges.push(range);
    }
  }
  return ranges;
}
