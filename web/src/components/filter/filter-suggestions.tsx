/* oxlint-disable jsx-a11y/prefer-tag-over-role -- a datalist shows neither what a word means nor which one is chosen */
import type { Proposal } from "./filter-completion.ts";
import { toVisibleText } from "../text/visible-text.ts";

/** The ways in which a filter can go on; the line above has the focus. */
export const Proposals = ({
  id,
  proposals,
  active,
  onTake,
}: {
  readonly id: string;
  readonly proposals: readonly Proposal[];
  readonly active: number;
  readonly onTake: (proposal: Proposal) => void;
}) => (
  <div
    id={id}
    role="listbox"
    tabIndex={-1}
    aria-label="Ways to go on"
    className="filter-proposals"
    hidden={proposals.length === 0}
  >
    {proposals.map((proposal, index) => (
      <div
        key={proposal.insert}
        id={`${id}-${index}`}
        role="option"
        tabIndex={-1}
        aria-selected={index === active}
        // Before the line loses the focus.
        onPointerDown={(event) => {
          event.preventDefault();
          onTake(proposal);
        }}
      >
        <code>{toVisibleText(proposal.label)}</code>
        <span>{proposal.detail}</span>
      </div>
    ))}
  </div>
);
