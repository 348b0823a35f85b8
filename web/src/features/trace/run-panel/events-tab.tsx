import { useVirtualizer } from "@tanstack/react-virtual";
import { useRef } from "react";
import { Payload } from "../../../components/payload/payload.tsx";
import { toVisibleText } from "../../../components/text/visible-text.ts";
import { formatDuration, parseTimeMs } from "../../../components/time/time.ts";
import type { TraceRunDetails } from "../queries.ts";

const rowHeight = 26;
/** Characters of what an event holds that its line shows. */
const shownChars = 300;

/** What happened within a run, and when; the first token of an answer that was streamed is marked. */
export const EventsTab = ({ details }: { readonly details: TraceRunDetails }) => {
  const { events, allEvents, startMs } = details;
  const scroller = useRef<HTMLDivElement>(null);
  // oxlint-disable-next-line react/incompatible-library -- its functions are not memoized here
  const virtualizer = useVirtualizer({
    count: events.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
  });
  if (events.length === 0) {
    return allEvents === undefined || Array.isArray(allEvents) ? (
      <p className="absent">Nothing was noted while this run went on.</p>
    ) : (
      <Payload label="Events" value={allEvents} />
    );
  }
  const read = events.map((event) => toLine(event, startMs));
  const firstToken = read.findIndex(({ name }) => name === "new_token");
  return (
    <>
      <div
        className="events"
        ref={scroller}
        // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- it scrolls
        tabIndex={0}
      >
        <ul className="rows" aria-label="Events" style={{ height: virtualizer.getTotalSize() }}>
          {virtualizer.getVirtualItems().map(({ index, start }) => {
            const { name, afterMs, text } = read[index] ?? {
              name: "",
              afterMs: undefined,
              text: "",
            };
            return (
              <li
                key={index}
                className="event-row"
                style={{ height: rowHeight, transform: `translateY(${start}px)` }}
              >
                <span className="event-time">
                  {afterMs === undefined ? "" : `+${formatDuration(Math.max(0, afterMs))}`}
                </span>
                <bdi>{toVisibleText(name)}</bdi>
                {index === firstToken && <span className="tag">first token</span>}
                <span className="event-text">{toVisibleText(text)}</span>
              </li>
            );
          })}
        </ul>
      </div>
      <Payload label="All events" value={events} mode="json" />
    </>
  );
};

interface EventLine {
  readonly name: string;
  readonly afterMs: number | undefined;
  readonly text: string;
}

function toLine(event: unknown, startMs: number): EventLine {
  if (typeof event !== "object" || event === null) {
    return { name: "", afterMs: undefined, text: JSON.stringify(event).slice(0, shownChars) };
  }
  const { name, time, ...rest } = event as Readonly<Record<string, unknown>>;
  const at = parseTimeMs(time);
  const text = Object.keys(rest).length === 0 ? "" : JSON.stringify(rest);
  return {
    name: typeof name === "string" ? name.slice(0, shownChars) : "event",
    afterMs: at === undefined ? undefined : at - startMs,
    text: text.slice(0, shownChars),
  };
}
