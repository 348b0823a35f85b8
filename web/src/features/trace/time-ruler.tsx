import { useRef, useState } from "react";
import type { PointerEvent } from "react";
import { formatDuration } from "../../components/time/time.ts";
import { toTicks, createWindow } from "./time-scale.ts";
import type { ZoomTarget } from "./use-wheel-zoom.ts";

const tickCount = 4;
/** Pixels that the pointer must move before a press counts as a drag. */
const minDragPixels = 4;

/** The time axis above the bars, with ticks counted from the trace's start. Dragging across it zooms to that range. */
export const TimeRuler = ({ window, fullRange, onWindow }: ZoomTarget) => {
  const ruler = useRef<HTMLDivElement>(null);
  const [draggedRange, setDragged] = useState<{ readonly from: number; readonly to: number }>();
  const windowLength = window.to - window.from;
  const computeFraction = ({ clientX }: PointerEvent): number => {
    const bounds = ruler.current?.getBoundingClientRect();
    const width = bounds?.width ?? 0;
    return width === 0 ? 0 : Math.min(1, Math.max(0, (clientX - (bounds?.left ?? 0)) / width));
  };
  const onPointerUp = (): void => {
    const width = ruler.current?.clientWidth ?? 0;
    if (
      draggedRange !== undefined &&
      Math.abs(draggedRange.to - draggedRange.from) * width > minDragPixels
    ) {
      const toTime = (fraction: number): number => window.from + fraction * windowLength;
      onWindow(createWindow(toTime(draggedRange.from), toTime(draggedRange.to), fullRange));
    }
    setDragged(undefined);
  };
  return (
    <div className="ruler tree-row" aria-hidden="true">
      <span />
      <div
        className="ruler-scale"
        ref={ruler}
        onPointerDown={(event) => {
          event.currentTarget.setPointerCapture(event.pointerId);
          setDragged({ from: computeFraction(event), to: computeFraction(event) });
        }}
        onPointerMove={(event) =>
          draggedRange !== undefined && setDragged({ ...draggedRange, to: computeFraction(event) })
        }
        onPointerUp={onPointerUp}
        onDoubleClick={() => onWindow(fullRange)}
      >
        {toTicks(window, tickCount, fullRange.from).map((tick) => (
          <span
            key={tick}
            className="ruler-tick"
            style={{ left: `${((tick - window.from) / windowLength) * 100}%` }}
          >
            {tick === fullRange.from ? "0" : formatDuration((tick - fullRange.from) / 1_000)}
          </span>
        ))}
        {draggedRange !== undefined && (
          <span
            className="ruler-drawn"
            style={{
              left: `${Math.min(draggedRange.from, draggedRange.to) * 100}%`,
              width: `${Math.abs(draggedRange.to - draggedRange.from) * 100}%`,
            }}
          />
        )}
      </div>
      <span />
    </div>
  );
};
