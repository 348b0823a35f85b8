import { useElementSize, useMergedRef } from "@mantine/hooks";
import { useRef, useState } from "react";
import type { PointerEvent } from "react";
import { formatDuration } from "../../components/time/time.ts";
import { toTicks, createWindow } from "./time-scale.ts";
import type { ZoomTarget } from "./use-wheel-zoom.ts";

/** The maximum number of ticks, and the width of a tick's label in pixels. */
const maxTicks = 4;
const tickPixels = 64;
/** Pixels that the pointer must move before a press counts as a drag. */
const minDragPixels = 4;

/** The time axis above the bars, with ticks counted from the trace's start. Dragging across it zooms to that range. */
export const TimeRuler = ({ window, fullRange, onWindow }: ZoomTarget) => {
  const ruler = useRef<HTMLDivElement>(null);
  const { ref: measureRef, width: scaleWidth } = useElementSize();
  const scaleRef = useMergedRef(ruler, measureRef);
  const tickCount = Math.min(maxTicks, Math.max(1, Math.floor(scaleWidth / tickPixels)));
  /** The position on the scale, from 0 to 1, after which a label would extend beyond the end of the scale. */
  const lastLabelFraction = scaleWidth === 0 ? 1 : 1 - tickPixels / scaleWidth;
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
        ref={scaleRef}
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
        {toTicks(window, tickCount, fullRange.from).map((tick) => {
          const fraction = (tick - window.from) / windowLength;
          const isLast = fraction > lastLabelFraction;
          return (
            <span
              key={tick}
              className={isLast ? "ruler-tick last" : "ruler-tick"}
              style={
                isLast ? { right: `${(1 - fraction) * 100}%` } : { left: `${fraction * 100}%` }
              }
            >
              {tick === fullRange.from ? "0" : formatDuration((tick - fullRange.from) / 1_000)}
            </span>
          );
        })}
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
