import { useDebouncedValue } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { useId, useRef, useState } from "react";
import type { KeyboardEvent, ReactNode } from "react";
import { toVisibleText } from "../text/visible-text.ts";
import { applySuggestion } from "./filter-completion.ts";
import type { Suggestion, WantedWords } from "./filter-completion.ts";
import { describePart, toFilterParts, withoutFilterParts } from "./filter-parts.ts";
import { Suggestions, useSuggestions } from "./filter-suggestions.tsx";
import { filterFaultQuery, filterWordsQuery } from "./queries.ts";
import type { FilterFault } from "./queries.ts";
import "./filter-bar.css";

export interface FilterBarProps {
  /** What is filtered. */
  readonly of: "runs" | "examples";
  /** The filter that counts now. */
  readonly value: string;
  readonly onApply: (filter: string) => void;
  /** Words that the things filtered have, for the completion. */
  readonly readWords?: (wants: WantedWords, signal: AbortSignal) => Promise<readonly string[]>;
  /** Names the words in the query cache: the project, the dataset. */
  readonly wordsKey?: string;
  /** Quick filters, which put conditions into the same filter. */
  readonly children?: ReactNode;
}

const checkAfterMs = 250;

/**
 * A line for a filter of the filter language: completion while it is written, its fault shown under the
 * place, its conditions below as chips to take away. Enter applies it.
 */
export const FilterBar = (props: FilterBarProps) => {
  const { of, value, onApply, children } = props;
  // What is written counts until another filter is applied, here or elsewhere.
  const [written, setWritten] = useState({ over: value, draft: value });
  const draft = written.over === value ? written.draft : value;
  const setDraft = (next: string): void => setWritten({ over: value, draft: next });
  const [cursor, setCursor] = useState<number>();
  const [active, setActive] = useState(-1);
  const [scrolled, setScrolled] = useState(0);
  const input = useRef<HTMLInputElement>(null);
  const listId = useId();
  const { data: words } = useQuery(filterWordsQuery);
  const [checked] = useDebouncedValue(draft, checkAfterMs);
  const { data: fault } = useQuery({
    ...filterFaultQuery(of, checked),
    enabled: checked.trim() !== "",
  });
  const isOpen = cursor !== undefined;
  const { completion, suggestions } = useSuggestions(props, { words: words?.[of], draft, cursor });
  const take = (suggestion: Suggestion): void => {
    if (completion === undefined) {
      return;
    }
    const taken = applySuggestion(draft, completion, suggestion);
    setDraft(taken.filter);
    setActive(-1);
    setCursor(taken.cursor);
    requestAnimationFrame(() => input.current?.setSelectionRange(taken.cursor, taken.cursor));
  };
  const apply = (filter: string): void => {
    setCursor(undefined);
    setActive(-1);
    setWritten({ over: filter.trim(), draft: filter.trim() });
    onApply(filter.trim());
  };
  const onKey = (event: KeyboardEvent<HTMLInputElement>): void => {
    const count = isOpen ? suggestions.length : 0;
    const chosen = suggestions[active];
    const steps: Readonly<Record<string, (() => void) | undefined>> = {
      ArrowDown: count > 0 ? () => setActive((active + 1) % count) : undefined,
      ArrowUp: count > 0 ? () => setActive((active <= 0 ? count : active) - 1) : undefined,
      Tab: isOpen && chosen !== undefined ? () => take(chosen) : undefined,
      Enter: () => (isOpen && chosen !== undefined ? take(chosen) : apply(draft)),
      Escape: isOpen ? () => setCursor(undefined) : () => setDraft(value),
    };
    const step = steps[event.key];
    if (step !== undefined) {
      event.preventDefault();
      event.stopPropagation();
      step();
    }
  };
  const follow = (): void => {
    setCursor(input.current?.selectionStart ?? 0);
    setScrolled(input.current?.scrollLeft ?? 0);
  };
  const hasFault = fault !== undefined && fault !== null && checked === draft;
  return (
    <search className="filter-bar" aria-label={`Filter ${of}`}>
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
          aria-activedescendant={active >= 0 ? `${listId}-${active}` : undefined}
          aria-invalid={hasFault}
          aria-describedby={hasFault ? `${listId}-fault` : undefined}
          placeholder={'Filter, such as eq(status, "error")'}
          spellCheck={false}
          autoComplete="off"
          data-filter-input
          value={draft}
          onChange={({ target }) => {
            setDraft(target.value);
            setActive(-1);
            follow();
          }}
          onKeyDown={onKey}
          onKeyUp={({ key }) => {
            if (key.startsWith("Arrow") && key !== "ArrowDown" && key !== "ArrowUp" && isOpen) {
              follow();
            }
          }}
          onClick={follow}
          onScroll={({ currentTarget }) => setScrolled(currentTarget.scrollLeft)}
          onBlur={() => setCursor(undefined)}
        />
        {draft !== value && (
          <button type="button" className="filter-apply" onClick={() => apply(draft)}>
            Apply ⏎
          </button>
        )}
        {draft !== "" && (
          <button
            type="button"
            className="filter-clear"
            aria-label="Clear the filter"
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
            scrolled={scrolled}
          />
        )}
        <Suggestions
          id={listId}
          suggestions={isOpen ? suggestions : []}
          active={active}
          onTake={take}
        />
      </div>
      <div className="filter-quick">
        {children}
        <FilterChips filter={value} onApply={apply} />
      </div>
    </search>
  );
};

/** The conditions of a filter, each to be taken away. */
const FilterChips = ({
  filter,
  onApply,
}: {
  readonly filter: string;
  readonly onApply: (filter: string) => void;
}) => (
  <ul className="filter-chips" aria-label="Conditions">
    {toFilterParts(filter).map((part) => (
      <li key={part} className="filter-chip" title={toVisibleText(part)}>
        <span>{toVisibleText(describePart(part))}</span>
        <button
          type="button"
          aria-label={`Remove ${toVisibleText(describePart(part))}`}
          onClick={() => onApply(withoutFilterParts(filter, (one) => one === part))}
        >
          ✕
        </button>
      </li>
    ))}
  </ul>
);

/** The fault of a filter: a line under the very characters, and below it what is wrong with them. */
const FilterFaultMark = ({
  id,
  filter,
  fault,
  scrolled,
}: {
  readonly id: string;
  readonly filter: string;
  readonly fault: FilterFault;
  /** How far the line is scrolled, in pixels. */
  readonly scrolled: number;
}) => {
  const mark = useRef<HTMLElement>(null);
  const { offset, length, reason } = fault;
  return (
    <>
      <span className="filter-mirror" aria-hidden="true">
        <span className="filter-mirror-text" style={{ transform: `translateX(${-scrolled}px)` }}>
          {filter.slice(0, offset)}
          <mark ref={mark}>{filter.slice(offset, offset + length) || " "}</mark>
        </span>
      </span>
      <p id={id} className="filter-fault" role="alert">
        <span
          className="filter-caret"
          aria-hidden="true"
          // The mark is laid out by now: where it stands is where its characters do.
          ref={(caret) => {
            const left = Math.max(0, (mark.current?.offsetLeft ?? 0) - scrolled);
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
