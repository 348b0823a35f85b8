import { useCallback, useLayoutEffect, useRef, useState } from "react";
import { toVisibleText } from "../text/visible-text.ts";
import { removeConditions, splitConditions } from "./filter-conditions.ts";
import { toPlainFilter } from "./plain-filter.ts";

/** Whether chips are hidden at the sides of the row. */
interface HiddenSides {
  readonly start: boolean;
  readonly end: boolean;
}

/** The width of a mark at a side of the row, in pixels, as in the style sheet. */
const markWidth = 28;
/** The part of the row's width by which a click on one of its marks scrolls. */
const scrolledPart = 0.8;

/**
 * Shows the conditions of a filter as chips. Each has a button to edit the condition and a button to remove it. The
 * chips are one row, which scrolls sideways, so that a long filter leaves the height of the page to the list.
 */
export const FilterChips = ({
  filter,
  edited,
  onEdit,
  onApply,
}: {
  readonly filter: string;
  /** The condition that is being edited. */
  readonly edited: string | undefined;
  readonly onEdit: (condition: string) => void;
  readonly onApply: (filter: string) => void;
}) => {
  const scroller = useRef<HTMLDivElement>(null);
  const list = useRef<HTMLUListElement>(null);
  const [hiddenSides, setHiddenSides] = useState<HiddenSides>({ start: false, end: false });
  const updateHiddenSides = useCallback((): void => {
    if (scroller.current !== null) {
      const { scrollLeft, clientWidth, scrollWidth } = scroller.current;
      // Positions can be fractions of a pixel.
      const newSides = { start: scrollLeft > 1, end: scrollLeft + clientWidth < scrollWidth - 1 };
      setHiddenSides((sides) =>
        sides.start === newSides.start && sides.end === newSides.end ? sides : newSides,
      );
    }
  }, []);
  useLayoutEffect(() => {
    const observer = new ResizeObserver(updateHiddenSides);
    for (const element of [scroller.current, list.current]) {
      if (element !== null) {
        observer.observe(element);
      }
    }
    return () => observer.disconnect();
  }, [updateHiddenSides]);
  const conditions = splitConditions(filter);
  useNewItem(conditions, (index) => {
    const item = list.current?.children[index];
    if (item instanceof HTMLElement && scroller.current !== null) {
      scroller.current.scrollLeft =
        item.offsetLeft + item.offsetWidth / 2 - scroller.current.clientWidth / 2;
    }
  });
  /** Scrolls until the marks at the sides of the row do not cover an element that got the focus. */
  const revealFocus = (element: Element): void => {
    // A click leaves the row where it is: otherwise the button would move away from the pointer.
    if (scroller.current !== null && element.matches(":focus-visible")) {
      const row = scroller.current.getBoundingClientRect();
      const { left, right } = element.getBoundingClientRect();
      const missingAtEnd = Math.max(0, right - (row.right - markWidth));
      const missingAtStart = Math.max(0, row.left + markWidth - (left - missingAtEnd));
      scroller.current.scrollLeft += missingAtEnd - missingAtStart;
    }
  };
  const scrollBy = (direction: 1 | -1): void => {
    scroller.current?.scrollBy({ left: direction * scrolledPart * scroller.current.clientWidth });
  };
  return (
    <div className="filter-chips-row">
      <div
        className="filter-chips-scroller"
        ref={scroller}
        onScroll={updateHiddenSides}
        onFocus={({ target }) => revealFocus(target)}
      >
        <ul className="filter-chips" aria-label="Filter conditions" ref={list}>
          {conditions.map((condition) => {
            const text = toVisibleText(toPlainFilter(condition));
            return (
              // Hide the chip of a condition that is being edited in the input. The condition keeps its position.
              <li key={condition} className="filter-chip" hidden={condition === edited}>
                <button
                  type="button"
                  className="filter-chip-text"
                  title={text}
                  aria-label={`Edit ${text}`}
                  onClick={() => onEdit(condition)}
                >
                  {text}
                </button>
                <button
                  type="button"
                  className="filter-chip-remove"
                  aria-label={`Remove ${text}`}
                  onClick={() => onApply(removeConditions(filter, (other) => other === condition))}
                >
                  ✕
                </button>
              </li>
            );
          })}
        </ul>
      </div>
      {hiddenSides.start && <MoreMark side="start" onClick={() => scrollBy(-1)} />}
      {hiddenSides.end && <MoreMark side="end" onClick={() => scrollBy(1)} />}
    </div>
  );
};

/**
 * Shows that chips are hidden at a side of the row; a click scrolls to them. Keyboard users do not need it, because the
 * row scrolls to the chip that has the focus.
 */
const MoreMark = ({
  side,
  onClick,
}: {
  readonly side: keyof HiddenSides;
  readonly onClick: () => void;
}) => (
  <button
    type="button"
    className="filter-chips-more"
    data-side={side}
    tabIndex={-1}
    aria-hidden="true"
    onClick={onClick}
  >
    {side === "start" ? "‹" : "›"}
  </button>
);

/** Calls a function with the position of the first item that was added since the previous render. */
function useNewItem(items: readonly string[], onNewItem: (index: number) => void): void {
  const previousItems = useRef(items);
  useLayoutEffect(() => {
    const newIndex = items.findIndex((item) => !previousItems.current.includes(item));
    previousItems.current = items;
    if (newIndex >= 0) {
      onNewItem(newIndex);
    }
  });
}
