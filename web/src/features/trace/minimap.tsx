import { useComputedColorScheme } from "@mantine/core";
import { useElementSize } from "@mantine/hooks";
import { useEffect, useRef } from "react";
import type { PointerEvent } from "react";
import { countLanes, toMinimapBars } from "./minimap-bars.ts";
import { pan, toBar, createWindow } from "./time-scale.ts";
import type { TimeWindow } from "./time-scale.ts";
import type { TraceView } from "./use-trace-view.ts";

const minimapHeight = 44;
/** Pressing the pointer within this many pixels of an edge of the time window drags that edge. */
const gripPixels = 6;

/** A small picture of the whole trace. A window in the picture marks the visible time range, and can be dragged. */
export const Minimap = ({
  view,
  onWindow,
}: {
  readonly view: TraceView;
  readonly onWindow: (window: TimeWindow) => void;
}) => {
  const { window, fullRange } = view;
  const { ref, width } = useElementSize();
  const scheme = useComputedColorScheme("light");
  const drag = useRef<(fraction: number) => TimeWindow>(undefined);
  const visibleBar = toBar(fullRange, window.from, window.to);
  const isFullRange = visibleBar.width > 0.9999;
  const toTime = (fraction: number): number =>
    fullRange.from + fraction * (fullRange.to - fullRange.from);
  const createDrag =
    (fixedFraction: number) =>
    (draggedFraction: number): TimeWindow =>
      createWindow(toTime(fixedFraction), toTime(draggedFraction), fullRange);
  const onPointerDown = (event: PointerEvent): void => {
    event.currentTarget.setPointerCapture(event.pointerId);
    const fraction = computeFraction(event);
    const isNear = (edge: number): boolean =>
      !isFullRange && Math.abs(fraction - edge) * width < gripPixels;
    const [left, right] = [visibleBar.left, visibleBar.left + visibleBar.width];
    if (isNear(left)) {
      drag.current = createDrag(right);
    } else if (isNear(right)) {
      drag.current = createDrag(left);
    } else if (!isFullRange && fraction > left && fraction < right) {
      drag.current = (to) => pan(window, (to - fraction) / visibleBar.width, fullRange);
    } else {
      drag.current = createDrag(fraction);
    }
  };
  return (
    <div
      className="minimap"
      ref={ref}
      aria-hidden="true"
      onPointerDown={onPointerDown}
      onPointerMove={(event) =>
        drag.current !== undefined && onWindow(drag.current(computeFraction(event)))
      }
      onPointerUp={() => {
        drag.current = undefined;
      }}
      onDoubleClick={() => onWindow(fullRange)}
    >
      {/* A canvas does not update its colors when the color scheme changes, so the key creates a new one. */}
      <MinimapPicture key={scheme} view={view} width={width} />
      {!isFullRange && (
        <>
          <span className="minimap-shade" style={{ left: 0, width: `${visibleBar.left * 100}%` }} />
          <span
            className="minimap-window"
            style={{ left: `${visibleBar.left * 100}%`, width: `${visibleBar.width * 100}%` }}
          />
          <span
            className="minimap-shade"
            style={{ left: `${(visibleBar.left + visibleBar.width) * 100}%`, right: 0 }}
          />
        </>
      )}
    </div>
  );
};

function computeFraction({ clientX, currentTarget }: PointerEvent): number {
  const bounds = currentTarget.getBoundingClientRect();
  return Math.min(1, Math.max(0, (clientX - bounds.left) / bounds.width));
}

const MinimapPicture = ({
  view: { model, fullRange, now },
  width,
}: {
  readonly view: TraceView;
  readonly width: number;
}) => {
  const ref = useRef<HTMLCanvasElement>(null);
  useEffect(() => {
    const canvas = ref.current;
    const context = canvas?.getContext("2d") ?? null;
    if (canvas === null || context === null || width === 0) {
      return;
    }
    const ratio = devicePixelRatio;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(minimapHeight * ratio);
    context.scale(ratio, ratio);
    const getColor = createColorLookup(canvas);
    const laneCount = countLanes(model);
    const laneHeight = minimapHeight / laneCount;
    for (const bar of toMinimapBars(model, { fullRange, width, laneCount, now })) {
      context.fillStyle = getColor(bar.isError ? "bad" : `type-${model.types[bar.run] ?? ""}`);
      context.fillRect(bar.x, bar.lane * laneHeight + 0.5, bar.width, laneHeight - 1);
    }
  }, [model, fullRange, now, width]);
  return <canvas ref={ref} style={{ width: "100%", height: minimapHeight }} />;
};

/**
 * Returns a function that looks up a color of the theme by name. A run type without a color of its own gets the color
 * of chains.
 */
function createColorLookup(element: Element): (name: string) => string {
  const style = getComputedStyle(element);
  const cachedColors = new Map<string, string>();
  return (name) => {
    const themeColor =
      cachedColors.get(name) ?? (/^[\w-]+$/.test(name) ? style.getPropertyValue(`--${name}`) : "");
    const color = themeColor === "" ? style.getPropertyValue("--type-chain") : themeColor;
    cachedColors.set(name, color);
    return color;
  };
}
