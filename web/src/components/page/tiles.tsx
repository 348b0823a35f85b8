import type { ReactNode } from "react";
import "./tiles.css";

/** Key figures side by side. */
export const Tiles = ({
  label,
  children,
}: {
  readonly label: string;
  readonly children: ReactNode;
}) => (
  <dl className="tiles" aria-label={label}>
    {children}
  </dl>
);

/** A key figure: its name, its value, and how much it changed. */
export const Tile = ({
  name,
  value,
  change,
  isBad = false,
  action,
}: {
  readonly name: string;
  /** `undefined` if nothing was measured. */
  readonly value: string | undefined;
  readonly change?: string | undefined;
  readonly isBad?: boolean;
  /** A link next to the name. */
  readonly action?: ReactNode;
}) => (
  <div className="tile">
    <dt>
      <span>{name}</span>
      {action}
    </dt>
    <dd className={isBad ? "bad" : ""}>
      {value ?? "–"}
      {change !== undefined && <small className="metric-change">{change}</small>}
    </dd>
  </div>
);
