import { useDebouncedValue } from "@mantine/hooks";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useId, useLayoutEffect, useRef, useState } from "react";
import type { KeyboardEvent, ReactNode } from "react";
import { FilterChips } from "./filter-chips.tsx";
import { applySuggestion } from "./filter-completion.ts";
import type { Suggestion, ValueRequest } from "./filter-completion.ts";
import {
  joinConditions,
  mergeLaterFilter,
  replaceCondition,
  splitConditions,
} from "./filter-conditions.ts";
import { toPlainFilter } from "./plain-filter.ts";
import { Suggestions, useSuggestions } from "./filter-suggestions.tsx";
import { createFilterCheckQuery, filterLanguageQuery } from "./queries.ts";
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

/** The time between the last keystroke and the check of the typed text. */
const checkDelayMs = 250;

/** The text that the user is typing: new conditions, or an existing condition that is being edited. */
interface Draft {
  readonly text: string;
  /** The condition that the draft replaces; absent for new conditions. */
  readonly edited?: string;
}

const emptyDraft: Draft = { text: "" };

/**
 * An input for a filter. The user can enter words to search for, comparisons such as `latency > 5s`, and functions. The
 * applied conditions are chips in the same row: a click on a chip edits its condition, and its button removes the
 * condition. Enter applies the entered text if it is valid. Otherwise the invalid characters are marked, and the list
 * does not change.
 */
export const FilterBar = (props: FilterBarProps) => {
  const { resource, value, valuesKey, onApply, children } = props;
  const queryClient = useQueryClient();
  // The draft is discarded when another filter is applied, for example by a quick filter or by going back.
  const [edit, setEdit] = useState({ base: value, draft: emptyDraft });
  const draft = edit.base === value ? edit.draft : emptyDraft;
  const setDraft = (newDraft: Draft): void => setEdit({ base: value, draft: newDraft });
  const [cursor, setCursor] = useState<number>();
  const [activeIndex, setActiveIndex] = useState(-1);
  const [scrollLeft, setScrollLeft] = useState(0);
  const input = useRef<HTMLInputElement>(null);
  /**
   * The filter that the bar shows now. Code that waits for a response compares it with the filter before the request.
   * `undefined` when the bar is unmounted.
   */
  const shownFilter = useRef<{ readonly value: string; readonly valuesKey: string | undefined }>(
    undefined,
  );
  /** The number of times that the user has applied or cleared a filter here. It detects a change during a request. */
  const actionCount = useRef(0);
  useLayoutEffect(() => {
    shownFilter.current = { value, valuesKey };
    return () => {
      shownFilter.current = undefined;
    };
  }, [value, valuesKey]);
  const listId = useId();
  const { data: languages } = useQuery(filterLanguageQuery);
  /** The text for which Enter was pressed. */
  const [enteredText, setEnteredText] = useState<string>();
  const foundFault = useFault(resource, draft.text === "" ? value : draft.text);
  // While the user types, an error at the end of the text is not shown, because the text is not complete yet.
  const isUnfinished =
    draft.text !== "" &&
    draft.text !== enteredText &&
    foundFault !== undefined &&
    foundFault.offset >= draft.text.trimEnd().length;
  const fault = isUnfinished ? undefined : foundFault;
  const isOpen = cursor !== undefined;
  const { completion, suggestions } = useSuggestions(props, {
    language: languages?.[resource],
    draft: draft.text,
    cursor,
  });
  const close = (): void => {
    setCursor(undefined);
    setActiveIndex(-1);
  };
  const acceptSuggestion = (suggestion: Suggestion): void => {
    if (completion === undefined) {
      return;
    }
    const newFilter = applySuggestion(draft.text, completion, suggestion);
    setDraft({ ...draft, text: newFilter.filter });
    setActiveIndex(-1);
    setCursor(newFilter.cursor);
    requestAnimationFrame(() =>
      input.current?.setSelectionRange(newFilter.cursor, newFilter.cursor),
    );
  };
  const applyFilter = (filter: string): void => {
    close();
    actionCount.current += 1;
    setEdit({ base: filter, draft: emptyDraft });
    onApply(filter);
  };
  const applyDraft = async (): Promise<void> => {
    close();
    setEnteredText(draft.text);
    const action = (actionCount.current += 1);
    const text = draft.text.trim();
    const check = createFilterCheckQuery(resource, text);
    const { functions } =
      text === ""
        ? { functions: "" }
        : // A failed request is reported by the query of the same check, which marks errors.
          await queryClient.fetchQuery(check).catch(() => ({ functions: undefined }));
    const { current: latest } = shownFilter;
    // During the request, the bar may have been unmounted, another list may be shown, or the user may have cleared the
    // filter.
    if (
      functions === undefined ||
      latest === undefined ||
      latest.valuesKey !== valuesKey ||
      (latest.value === value && actionCount.current !== action)
    ) {
      return;
    }
    // An `and(…)` that the user typed stays one condition, because its parts may refer to the same feedback.
    const newConditions =
      text.startsWith("and(") && value !== "" ? [functions] : splitConditions(functions);
    const applied =
      draft.edited === undefined
        ? joinConditions([...new Set([...splitConditions(value), ...newConditions])])
        : replaceCondition(value, draft.edited, functions);
    applyFilter(mergeLaterFilter({ base: value, applied, later: latest.value }));
  };
  const editCondition = (condition: string): void => {
    setDraft({ text: toPlainFilter(condition), edited: condition });
    close();
    input.current?.focus();
  };
  const handleKeyDown = (event: KeyboardEvent<HTMLInputElement>): void => {
    const suggestionCount = isOpen ? suggestions.length : 0;
    const activeSuggestion = suggestions[activeIndex];
    const lastCondition = splitConditions(value).at(-1);
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
          : void applyDraft(),
      Escape: isOpen ? close : () => setDraft(emptyDraft),
      Backspace:
        draft.text === "" && draft.edited === undefined && lastCondition !== undefined
          ? () => editCondition(lastCondition)
          : undefined,
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
  return (
    <search className="filter-bar" aria-label={`Filter ${resource}`}>
      <div className="filter-line" data-fault={fault !== undefined || undefined}>
        <FilterChips
          filter={value}
          edited={draft.edited}
          onEdit={editCondition}
          onApply={applyFilter}
        />
        <span className="filter-field">
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
            aria-invalid={fault !== undefined}
            aria-describedby={fault === undefined ? undefined : `${listId}-fault`}
            placeholder={value === "" ? "Search, or filter: latency > 5s, status = error" : ""}
            spellCheck={false}
            autoComplete="off"
            data-filter-input
            value={draft.text}
            onChange={({ target }) => {
              setDraft({ ...draft, text: target.value });
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
          {fault !== undefined && draft.text !== "" && (
            <FaultMirror filter={draft.text} fault={fault} scrollLeft={scrollLeft} />
          )}
        </span>
        {draft.text !== toPlainFilter(draft.edited ?? "") && (
          <button type="button" className="filter-apply" onClick={() => void applyDraft()}>
            Apply filter ⏎
          </button>
        )}
        {(draft.text !== "" || value !== "") && (
          <button
            type="button"
            className="filter-clear"
            aria-label="Clear filter"
            onClick={() => applyFilter("")}
          >
            ✕
          </button>
        )}
        <Suggestions
          id={listId}
          suggestions={isOpen ? suggestions : []}
          activeIndex={activeIndex}
          onSelect={acceptSuggestion}
        />
      </div>
      {fault !== undefined && (
        <p id={`${listId}-fault`} className="filter-fault" role="alert">
          {fault.reason}
        </p>
      )}
      <div className="filter-quick">{children}</div>
    </search>
  );
};

/** Returns the error that the server has found in a text. The text is checked after a pause in typing. */
function useFault(resource: "runs" | "examples", text: string): FilterFault | undefined {
  const [checkedText] = useDebouncedValue(text, checkDelayMs);
  const { data } = useQuery({
    ...createFilterCheckQuery(resource, checkedText),
    enabled: checkedText.trim() !== "",
  });
  return checkedText === text && text.trim() !== "" ? data?.fault : undefined;
}

/** An invisible copy of the input's text, in which the invalid characters are underlined. */
const FaultMirror = ({
  filter,
  fault: { offset, length },
  scrollLeft,
}: {
  readonly filter: string;
  readonly fault: FilterFault;
  /** How far the input is scrolled sideways, in pixels. */
  readonly scrollLeft: number;
}) => (
  <span className="filter-mirror" aria-hidden="true">
    <span className="filter-mirror-text" style={{ transform: `translateX(${-scrollLeft}px)` }}>
      {filter.slice(0, offset)}
      <mark>{filter.slice(offset, offset + length) || " "}</mark>
    </span>
  </span>
);
