import { useDebouncedValue } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { useId, useRef, useState } from "react";
import type { KeyboardEvent, ReactNode } from "react";
import { toVisibleText } from "../text/visible-text.ts";
import { applySuggestion } from "./filter-completion.ts";
import type { Suggestion, ValueRequest } from "./filter-completion.ts";
import { describePart, toFilterParts, withoutFilterParts } from "./filter-parts.ts";
import { Suggestions, useSuggestions } from "./filter-suggestions.tsx";
import { filterFaultQuery, filterLanguageQuery } from "./queries.ts";
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
  // The draft belongs to the applied filter on which it is based. The draft is discarded when another filter is
  // applied.
  const [edit, setEdit] = useState({ base: value, draft: value });
  const draft = edit.base === value ? edit.draft : value;
  const setDraft = (next: string): void => setEdit({ base: value, draft: next });
  const [cursor, setCursor] = useState<number>();
  const [active, setActive] = useState(-1);
  const [scrolled, setScrolled] = useState(0);
  const input = useRef<HTMLInputElement>(null);
  const listId = useId();
  const { data: languages } = useQuery(filterLanguageQuery);
  const [checked] = useDebouncedValue(draft, checkDelayMs);
  const { data: fault } = useQuery({
    ...filterFaultQuery(resource, checked),
    enabled: checked.trim() !== "",
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
    const applied = applySuggestion(draft, completion, suggestion);
    setDraft(applied.filter);
    setActive(-1);
    setCursor(applied.cursor);
    requestAnimationFrame(() => input.current?.setSelectionRange(applied.cursor, applied.cursor));
  };
  const apply = (filter: string): void => {
    setCursor(undefined);
    setActive(-1);
    setEdit({ base: filter.trim(), draft: filter.trim() });
    onApply(filter.trim());
  };
  const onKey = (event: KeyboardEvent<HTMLInputElement>): void => {
    const count = isOpen ? suggestions.length : 0;
    const chosen = suggestions[active];
    const keyHandlers: Readonly<Record<string, (() => void) | undefined>> = {
      ArrowDown: count > 0 ? () => setActive((active + 1) % count) : undefined,
      ArrowUp: count > 0 ? () => setActive((active <= 0 ? count : active) - 1) : undefined,
      Tab: isOpen && chosen !== undefined ? () => acceptSuggestion(chosen) : undefined,
      Enter: () => (isOpen && chosen !== undefined ? acceptSuggestion(chosen) : apply(draft)),
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
    setScrolled(input.current?.scrollLeft ?? 0);
  };
  const hasFault = fault !== undefined && fault !== null && checked === draft;
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
          aria-activedescendant={active >= 0 ? `${listId}-${active}` : undefined}
          aria-invalid={hasFault}
          aria-describedby={hasFault ? `${listId}-fault` : undefined}
          placeholder={'Filter, for example eq(status, "error")'}
          spellCheck={false}
          autoComplete="off"
          data-filter-input
          value={draft}
          onChange={({ target }) => {
            setDraft(target.value);
            setActive(-1);
            updateCursor();
          }}
          onKeyDown={onKey}
          onKeyUp={({ key }) => {
            if (key.startsWith("Arrow") && key !== "ArrowDown" && key !== "ArrowUp" && isOpen) {
              updateCursor();
            }
          }}
          onClick={updateCursor}
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
            scrolled={scrolled}
          />
        )}
        <Suggestions
          id={listId}
          suggestions={isOpen ? suggestions : []}
          active={active}
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
  <ul className="filter-chips" aria-label="Conditions">
    {toFilterParts(filter).map((part) => (
      <li key={part} className="filter-chip" title={toVisibleText(part)}>
        <span>{toVisibleText(describePart(part))}</span>
        <button
          type="button"
          aria-label={`Remove ${toVisibleText(describePart(part))}`}
          onClick={() => onApply(withoutFilterParts(filter, (other) => other === part))}
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
  scrolled,
}: {
  readonly id: string;
  readonly filter: string;
  readonly fault: FilterFault;
  /** How far the input is scrolled sideways, in pixels. */
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
          // The mark is laid out at this point, so its offset is that of the invalid characters.
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
