import { useRef, useState } from "react";
import type { PointerEvent } from "react";
import { formatDuration } from "../../components/time/time.ts";
import { toTicks, windowBetween } from "./time-scale.ts";
import type { Zooming } from "./use-wheel-zoom.ts";

const tickCount = 4;
/** Pixels that a pointer must move for it to be more than a press. */
const dragPixels = 4;

/** Round moments above the bars, counted from the trace's start. Drawing on it shows that time. */
export const TimeRuler = ({ window, whole, onWindow }: Zooming) => {
  const ruler = useRef<HTMLDivElement>(null);
  const [drawn, setDrawn] = useState<{ readonly from: number; readonly to: number }>();
  const span = window.to - window.from;
  const shareAt = ({ clientX }: PointerEvent): number => {
    const bounds = ruler.current?.getBoundingClientRect();
    const width = bounds?.width ?? 0;
    return width === 0 ? 0 : Math.min(1, Math.max(0, (clientX - (bounds?.left ?? 0)) / width));
  };
  const onPointerUp = (): void => {
    const width = ruler.current?.clientWidth ?? 0;
    if (drawn !== undefined && Math.abs(drawn.to - drawn.from) * width > dragPixels) {
      const at = (share: number): number => window.from + share * span;
      onWindow(windowBetween(at(drawn.from), at(drawn.to), whole));
    }
    setDrawn(undefined);
  };
  return (
    <div className="ruler tree-row" aria-hidden="true">
      <span />
      <div
        className="ruler-scale"
        ref={ruler}
        onPointerDown={(event) => {
          event.currentTarget.setPointerCapture(event.pointerId);
          setDrawn({ from: shareAt(event), to: shareAt(event) });
        }}
        onPointerMove={(event) => drawn !== undefined && setDrawn({ ...drawn, to: shareAt(event) })}
        onPointerUp={onPointerUp}
        onDoubleClick={() => onWindow(whole)}
      >
        {toTicks(window, tickCount, whole.from).map((tick) => (
          <span
            key={tick}
            className="ruler-tick"
            style={{ left: `${((tick - window.from) / span) * 100}%` }}
          >
            {tick === whole.from ? "0" : formatDuration((tick - whole.from) / 1_000)}
          </span>
        ))}
        {drawn !== undefined && (
          <span
            className="ruler-drawn"
            style={{
              left: `${Math.min(drawn.from, drawn.to) * 100}%`,
              width: `${Math.abs(drawn.to - drawn.from) * 100}%`,
            }}
          />
        )}
      </div>
      <span />
    </div>
  );
};
