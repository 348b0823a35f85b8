import { useRef, useState } from "react";
import type { KeyboardEvent, PointerEvent, ReactNode } from "react";
import "./split-view.css";

const [minPercent, maxPercent, defaultPercent] = [20, 80, 55];
const stepPercent = 2;

const toStorageKey = (name: string): string => `millrace.split.${name}`;

const clamp = (percent: number): number =>
  Math.round(Math.min(maxPercent, Math.max(minPercent, percent)) * 10) / 10;

function readPercent(name: string): number {
  const storedPercent = Number(localStorage.getItem(toStorageKey(name)) ?? Number.NaN);
  return Number.isFinite(storedPercent) ? clamp(storedPercent) : defaultPercent;
}

/**
 * Two parts side by side, with a splitter between them that can be dragged or moved with the arrow keys. A double click
 * resets the splitter. The browser stores the position of the splitter. On narrow screens the parts are one below the
 * other, without a splitter.
 */
export const SplitView = ({
  name,
  label,
  className,
  children: [first, second],
}: {
  /** Identifies the stored position. */
  readonly name: string;
  /** The name of the splitter for screen readers. */
  readonly label: string;
  readonly className?: string;
  readonly children: readonly [ReactNode, ReactNode];
}) => {
  const [percent, setPercent] = useState(() => readPercent(name));
  const isDragging = useRef(false);
  const change = (newPercent: number): void => {
    const clampedPercent = clamp(newPercent);
    setPercent(clampedPercent);
    localStorage.setItem(toStorageKey(name), String(clampedPercent));
  };
  const onPointerMove = ({ clientX, currentTarget }: PointerEvent): void => {
    const bounds = currentTarget.parentElement?.getBoundingClientRect();
    if (isDragging.current && bounds !== undefined && bounds.width > 0) {
      change(((clientX - bounds.left) / bounds.width) * 100);
    }
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const targets: Readonly<Record<string, number>> = {
      ArrowLeft: percent - stepPercent,
      ArrowRight: percent + stepPercent,
      Home: minPercent,
      End: maxPercent,
    };
    const target = targets[event.key];
    if (target !== undefined) {
      event.preventDefault();
      event.stopPropagation();
      change(target);
    }
  };
  return (
    <div
      className={className === undefined ? "split" : `split ${className}`}
      style={{ ["--split" as string]: `${percent}%` }}
    >
      {first}
      <div
        className="splitter"
        // oxlint-disable-next-line jsx-a11y/prefer-tag-over-role -- an hr element has no value and can't be moved
        role="separator"
        aria-orientation="vertical"
        aria-label={label}
        aria-valuemin={minPercent}
        aria-valuemax={maxPercent}
        aria-valuenow={Math.round(percent)}
        tabIndex={0}
        onKeyDown={onKeyDown}
        onPointerDown={(event) => {
          event.currentTarget.setPointerCapture(event.pointerId);
          isDragging.current = true;
        }}
        onPointerMove={onPointerMove}
        onPointerUp={() => {
          isDragging.current = false;
        }}
        onDoubleClick={() => change(defaultPercent)}
      />
      {second}
    </div>
  );
};
