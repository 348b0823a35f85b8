import { formatCompactJson } from "../../../components/text/json-text.ts";
import { useVirtualizer } from "@tanstack/react-virtual";
import { useRef } from "react";
import { Payload } from "../../../components/payload/payload.tsx";
import { toVisibleText } from "../../../components/text/visible-text.ts";
import { formatDuration, parseTimeMs } from "../../../components/time/time.ts";
import type { TraceRunDetails } from "../queries.ts";

const rowHeight = 26;
/** The maximum number of characters of an event's name, and of its other fields, that its row shows. */
const maxShownChars = 300;

/** The events of a run with their times. The first token of a streamed response is marked. */
export const EventsTab = ({ details }: { readonly details: TraceRunDetails }) => {
  const { events, allEvents, startMs } = details;
  const scroller = useRef<HTMLDivElement>(null);
  // oxlint-disable-next-line react/incompatible-library -- the functions of the virtualizer are not memoized here
  const virtualizer = useVirtualizer({
    count: events.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
  });
  if (events.length === 0) {
    return allEvents === undefined || Array.isArray(allEvents) ? (
      <p className="absent">No events</p>
    ) : (
      <Payload label="Events" value={allEvents} />
    );
  }
  const rows = events.map((event) => toEventRow(event, startMs));
  const firstTokenIndex = rows.findIndex(({ name }) => name === "new_token");
  return (
    <>
      <div
        className="events"
        ref={scroller}
        // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- keyboard users must be able to scroll the list
        tabIndex={0}
      >
        <ul className="rows" aria-label="Events" style={{ height: virtualizer.getTotalSize() }}>
          {virtualizer.getVirtualItems().map(({ index, start }) => {
            const { name, afterMs, text } = rows[index] ?? {
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
                {index === firstTokenIndex && <span className="tag">first token</span>}
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

interface EventRow {
  readonly name: string;
  /** Milliseconds since the run's start; `undefined` if the event has no valid time. */
  readonly afterMs: number | undefined;
  readonly text: string;
}

function toEventRow(event: unknown, startMs: number): EventRow {
  if (typeof event !== "object" || event === null) {
    return { name: "", afterMs: undefined, text: formatCompactJson(event).slice(0, maxShownChars) };
  }
  const { name, time, ...fields } = event as Readonly<Record<string, unknown>>;
  const timeMs = parseTimeMs(time);
  const text = Object.keys(fields).length === 0 ? "" : formatCompactJson(fields);
  return {
    name: typeof name === "string" ? name.slice(0, maxShownChars) : "event",
    afterMs: timeMs === undefined ? undefined : timeMs - startMs,
    text: text.slice(0, maxShownChars),
  };
}
