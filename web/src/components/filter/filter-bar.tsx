import { useDebouncedValue } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { useId, useRef, useState } from "react";
import type { KeyboardEvent, ReactNode } from "react";
import { toVisibleText } from "../text/visible-text.ts";
import { applySuggestion } from "./filter-completion.ts";
import type { Suggestion, ValueRequest } from "./filter-completion.ts";
import { describeCondition, splitConditions, removeConditions } from "./filter-conditions.ts";
import { Suggestions, useSuggestions } from "./filter-suggestions.tsx";
import { createFilterFaultQuery, filterLanguageQuery } from "./queries.ts";
import type { FilterFault } from "./queries.ts";
import "./filter-bar.css";

export interface FilterBarProps {
  /** The resource whose list is filtered. */
  readonly resource: "runs" | "examples";
  /** The applied filter. */
  readonly value: string;
  readonly onApply: (filter: string) => void;
  /** Reads values that occur in the filtered resource, for suggestions. */
  readonly readValues?: (request: ValueRequest, signal: AbortSignal) => Promise<readonly string[]>;
  /** Identifies the values in the query cache: the id of the project or dataset. */
  readonly valuesKey?: string;
  /** Quick filters, which add their conditions to the same filter. */
  readonly children?: ReactNode;
}

/** The filter is checked this long after the last keystroke. */
const checkDelayMs = 250;

/**
 * An input for a filter in the filter language. It suggests completions, marks an error under the invalid
 * characters, and shows the conditions as removable chips. Enter applies the filter.
 */
export const FilterBar = (props: FilterBarProps) => {
  const { resource, value, onApply, children } = props;
  // The draft is an edited copy of the applied filter. It is discarded when another filter is applied.
  const [edit, setEdit] = useState({ base: value, draft: value });
  const draft = edit.base === value ? edit.draft : value;
  const setDraft = (next: string): void => setEdit({ base: value, draft: next });
  const [cursor, setCursor] = useState<number>();
  const [activeIndex, setActiveIndex] = useState(-1);
  const [scrollLeft, setScrollLeft] = useState(0);
  const input = useRef<HTMLInputElement>(null);
  const listId = useId();
  const { data: languages } = useQuery(filterLanguageQuery);
  const [debouncedDraft] = useDebouncedValue(draft, checkDelayMs);
  const { data: fault } = useQuery({
    ...createFilterFaultQuery(resource, debouncedDraft),
    enabled: debouncedDraft.trim() !== "",
  });
  const isOpen = cursor !== undefined;
  const { completion, suggestions } = useSuggestions(props, {
    language: languages?.[resource],
    draft,
    cursor,
  });
  const acceptSuggestion = (suggestion: Suggestion): void => {
    if (completion === undefined) {
      return;
    }
    const newFilter = applySuggestion(draft, completion, suggestion);
    setDraft(newFilter.filter);
    setActiveIndex(-1);
    setCursor(newFilter.cursor);
    requestAnimationFrame(() =>
      input.current?.setSelectionRange(newFilter.cursor, newFilter.cursor),
    );
  };
  const apply = (filter: string): void => {
    setCursor(undefined);
    setActiveIndex(-1);
    setEdit({ base: filter.trim(), draft: filter.trim() });
    onApply(filter.trim());
  };
  const handleKeyDown = (event: KeyboardEvent<HTMLInputElement>): void => {
    const suggestionCount = isOpen ? suggestions.length : 0;
    const activeSuggestion = suggestions[activeIndex];
    const keyHandlers: Readonly<Record<string, (() => void) | undefined>> = {
      ArrowDown:
        suggestionCount > 0 ? () => setActiveIndex((activeIndex + 1) % suggestionCount) : undefined,
      ArrowUp:
        suggestionCount > 0
          ? () => setActiveIndex((activeIndex <= 0 ? suggestionCount : activeIndex) - 1)
          : undefined,
      Tab:
        isOpen && activeSuggestion !== undefined
          ? () => acceptSuggestion(activeSuggestion)
          : undefined,
      Enter: () =>
        isOpen && activeSuggestion !== undefined
          ? acceptSuggestion(activeSuggestion)
          : apply(draft),
      Escape: isOpen ? () => setCursor(undefined) : () => setDraft(value),
    };
    const handleKey = keyHandlers[event.key];
    if (handleKey !== undefined) {
      event.preventDefault();
      event.stopPropagation();
      handleKey();
    }
  };
  const updateCursor = (): void => {
    setCursor(input.current?.selectionStart ?? 0);
    setScrollLeft(input.current?.scrollLeft ?? 0);
  };
  const hasFault = fault !== undefined && fault !== null && debouncedDraft === draft;
  return (
    <search className="filter-bar" aria-label={`Filter ${resource}`}>
      <div className="filter-line" data-fault={hasFault || undefined}>
        <input
          ref={input}
          type="text"
          className="filter-input"
          role="combobox"
          aria-label="Filter"
          aria-autocomplete="list"
          aria-expanded={isOpen && suggestions.length > 0}
          aria-controls={listId}
          aria-activedescendant={activeIndex >= 0 ? `${listId}-${activeIndex}` : undefined}
          aria-invalid={hasFault}
          aria-describedby={hasFault ? `${listId}-fault` : undefined}
          placeholder={'Filter, for example eq(status, "error")'}
          spellCheck={false}
          autoComplete="off"
          data-filter-input
          value={draft}
          onChange={({ target }) => {
            setDraft(target.value);
            setActiveIndex(-1);
            updateCursor();
          }}
          onKeyDown={handleKeyDown}
          onKeyUp={({ key }) => {
            if (key.startsWith("Arrow") && key !== "ArrowDown" && key !== "ArrowUp" && isOpen) {
              updateCursor();
            }
          }}
          onClick={updateCursor}
          onScroll={({ currentTarget }) => setScrollLeft(currentTarget.scrollLeft)}
          onBlur={() => setCursor(undefined)}
        />
        {draft !== value && (
          <button type="button" className="filter-apply" onClick={() => apply(draft)}>
            Apply filter ⏎
          </button>
        )}
        {draft !== "" && (
          <button
            type="button"
            className="filter-clear"
            aria-label="Clear filter"
            onClick={() => apply("")}
          >
            ✕
          </button>
        )}
        {hasFault && (
          <FilterFaultMark
            id={`${listId}-fault`}
            filter={draft}
            fault={fault}
            scrollLeft={scrollLeft}
          />
        )}
        <Suggestions
          id={listId}
          suggestions={isOpen ? suggestions : []}
          activeIndex={activeIndex}
          onSelect={acceptSuggestion}
        />
      </div>
      <div className="filter-quick">
        {children}
        <FilterChips filter={value} onApply={apply} />
      </div>
    </search>
  );
};

/** The conditions of a filter as chips with a button to remove each. */
const FilterChips = ({
  filter,
  onApply,
}: {
  readonly filter: string;
  readonly onApply: (filter: string) => void;
}) => (
  <ul className="filter-chips" aria-label="Filter conditions">
    {splitConditions(filter).map((condition) => (
      <li key={condition} className="filter-chip" title={toVisibleText(condition)}>
        <span>{toVisibleText(describeCondition(condition))}</span>
        <button
          type="button"
          aria-label={`Remove ${toVisibleText(describeCondition(condition))}`}
          onClick={() => onApply(removeConditions(filter, (other) => other === condition))}
        >
          ✕
        </button>
      </li>
    ))}
  </ul>
);

/** The error of a filter: a line under the invalid characters, and the reason below it. */
const FilterFaultMark = ({
  id,
  filter,
  fault,
  scrollLeft,
}: {
  readonly id: string;
  readonly filter: string;
  readonly fault: FilterFault;
  /** How far the input is scrolled sideways, in pixels. */
  readonly scrollLeft: number;
}) => {
  const mark = useRef<HTMLElement>(null);
  const { offset, length, reason } = fault;
  return (
    <>
      <span className="filter-mirror" aria-hidden="true">
        <span className="filter-mirror-text" style={{ transform: `translateX(${-scrollLeft}px)` }}>
          {filter.slice(0, offset)}
          <mark ref={mark}>{filter.slice(offset, offset + length) || " "}</mark>
        </span>
      </span>
      <p id={id} className="filter-fault" role="alert">
        <span
          className="filter-caret"
          aria-hidden="true"
          // The browser has already laid out the `mark` element above, so its offset can be read here.
          ref={(caret) => {
            const left = Math.max(0, (mark.current?.offsetLeft ?? 0) - scrollLeft);
            caret?.style.setProperty("transform", `translateX(${left}px)`);
          }}
        >
          ▲
        </span>
        {reason}
      </p>
    </>
  );
};
