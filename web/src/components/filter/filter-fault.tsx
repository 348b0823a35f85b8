import { useRef } from "react";
import type { FilterFault } from "./filter-words.ts";

/** The fault of a filter: a line under the very characters, and below it what is wrong with them. */
export const FilterFaultMark = ({
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
