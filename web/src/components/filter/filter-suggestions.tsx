/* oxlint-disable jsx-a11y/prefer-tag-over-role -- a datalist shows neither what a word means nor which one is chosen */
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import type { FilterWords } from "millrace/model";
import { toVisibleText } from "../text/visible-text.ts";
import { completeFilter, toWordSuggestions } from "./filter-completion.ts";
import type { Suggestion, Completion, WantedWords } from "./filter-completion.ts";

/** The ways in which a filter can go on; the line above has the focus. */
export const Suggestions = ({
  id,
  suggestions,
  active,
  onTake,
}: {
  readonly id: string;
  readonly suggestions: readonly Suggestion[];
  readonly active: number;
  readonly onTake: (suggestion: Suggestion) => void;
}) => (
  <div
    id={id}
    role="listbox"
    tabIndex={-1}
    aria-label="Ways to go on"
    className="filter-suggestions"
    hidden={suggestions.length === 0}
  >
    {suggestions.map((suggestion, index) => (
      <div
        key={suggestion.insert}
        id={`${id}-${index}`}
        role="option"
        tabIndex={-1}
        aria-selected={index === active}
        // Before the line loses the focus.
        onPointerDown={(event) => {
          event.preventDefault();
          onTake(suggestion);
        }}
      >
        <code>{toVisibleText(suggestion.label)}</code>
        <span>{suggestion.detail}</span>
      </div>
    ))}
  </div>
);

interface Source {
  readonly readWords?: (wants: WantedWords, signal: AbortSignal) => Promise<readonly string[]>;
  readonly wordsKey?: string;
}

interface Draft {
  readonly words: FilterWords | undefined;
  readonly draft: string;
  /** Absent while nothing is asked for. */
  readonly cursor: number | undefined;
}

/** More are not looked through, but written on. */
const shownMax = 12;
const staleMs = 30_000;

/** How a filter can go on at its cursor; the server's words come in as they arrive. */
export function useSuggestions(
  { readWords, wordsKey = "" }: Source,
  { words, draft, cursor }: Draft,
): { readonly completion: Completion | undefined; readonly suggestions: readonly Suggestion[] } {
  const completion =
    words === undefined || cursor === undefined
      ? undefined
      : completeFilter(draft, Math.min(cursor, draft.length), words);
  const wants = completion?.wants;
  const found = useQuery({
    queryKey: ["words", wordsKey, wants?.kind, wants?.key, wants?.prefix],
    queryFn: async ({ signal }) =>
      wants === undefined || readWords === undefined ? [] : readWords(wants, signal),
    enabled: wants !== undefined && readWords !== undefined,
    staleTime: staleMs,
    placeholderData: keepPreviousData,
  });
  if (completion === undefined) {
    return { completion, suggestions: [] };
  }
  const known = wants === undefined ? [] : toWordSuggestions(found.data ?? [], wants);
  const begins = known.filter(({ label }) =>
    label.toLowerCase().startsWith((wants?.prefix ?? "").toLowerCase()),
  );
  return { completion, suggestions: [...begins, ...completion.suggestions].slice(0, shownMax) };
}
