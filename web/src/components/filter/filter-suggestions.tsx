/* oxlint-disable jsx-a11y/prefer-tag-over-role -- a datalist can't show descriptions or the active suggestion */
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import type { FilterLanguage } from "millrace/model";
import { toVisibleText } from "../text/visible-text.ts";
import { completeFilter, toValueSuggestions } from "./filter-completion.ts";
import type { Suggestion, Completion, ValueRequest } from "./filter-completion.ts";

/** The list of suggestions below the filter input. The focus stays in the input. */
export const Suggestions = ({
  id,
  suggestions,
  activeIndex,
  onSelect,
}: {
  readonly id: string;
  readonly suggestions: readonly Suggestion[];
  readonly activeIndex: number;
  readonly onSelect: (suggestion: Suggestion) => void;
}) => (
  <div
    id={id}
    role="listbox"
    tabIndex={-1}
    aria-label="Suggestions"
    className="filter-suggestions"
    hidden={suggestions.length === 0}
  >
    {suggestions.map((suggestion, index) => (
      <div
        key={suggestion.insertedText}
        id={`${id}-${index}`}
        role="option"
        tabIndex={-1}
        aria-selected={index === activeIndex}
        // Handle pointer down instead of click: before a click, the input would lose the focus and close the list.
        onPointerDown={(event) => {
          event.preventDefault();
          onSelect(suggestion);
        }}
      >
        <code>{toVisibleText(suggestion.label)}</code>
        <span>
          <Description text={suggestion.detail} />
        </span>
      </div>
    ))}
  </div>
);

/** A description that the server sent. In it, code is between backticks. */
const Description = ({ text }: { readonly text: string }) =>
  text
    .split(/(`[^`]+`)/)
    .map((part, index) => (index % 2 === 0 ? part : <code key={index}>{part.slice(1, -1)}</code>));

/** Reads values that occur in runs, such as tags, to suggest them. */
interface ValueSource {
  readonly readValues?: (request: ValueRequest, signal: AbortSignal) => Promise<readonly string[]>;
  readonly valuesKey?: string;
}

/** The filter that the user is typing. */
interface FilterDraft {
  readonly language: FilterLanguage | undefined;
  readonly draft: string;
  /** `undefined` while the list of suggestions is closed. */
  readonly cursor: number | undefined;
}

/** The maximum number of suggestions shown. In a longer list it is faster to continue typing. */
const maxSuggestions = 12;
const valuesStaleMs = 30_000;

/** The suggestions at the cursor of a filter. Values from the server are added when they arrive. */
export function useSuggestions(
  { readValues, valuesKey = "" }: ValueSource,
  { language, draft, cursor }: FilterDraft,
): { readonly completion: Completion | undefined; readonly suggestions: readonly Suggestion[] } {
  const completion =
    language === undefined || cursor === undefined
      ? undefined
      : completeFilter(draft, Math.min(cursor, draft.length), language);
  const request = completion?.valueRequest;
  const values = useQuery({
    queryKey: ["values", valuesKey, request?.kind, request?.key, request?.prefix],
    queryFn: async ({ signal }) =>
      request === undefined || readValues === undefined ? [] : readValues(request, signal),
    enabled: request !== undefined && readValues !== undefined,
    staleTime: valuesStaleMs,
    placeholderData: keepPreviousData,
  });
  if (completion === undefined) {
    return { completion, suggestions: [] };
  }
  const serverSuggestions =
    request === undefined ? [] : toValueSuggestions(values.data ?? [], request);
  // The previous response stays until the next one arrives, so its values may not match the prefix.
  const matchingSuggestions = serverSuggestions.filter(({ label }) =>
    label.toLowerCase().startsWith((request?.prefix ?? "").toLowerCase()),
  );
  return {
    completion,
    suggestions: [...matchingSuggestions, ...completion.suggestions].slice(0, maxSuggestions),
  };
}
