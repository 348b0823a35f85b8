import { Link, useLocation } from "@tanstack/react-router";
import { useState } from "react";
import { useTenantId } from "../../api/tenant.ts";

/** The links to the screens. On narrow screens a button shows and hides them. */
export const Navigation = () => {
  const { pathname } = useLocation();
  // The path at which the menu was opened: following a link changes the path and so closes the menu.
  const [openAt, setOpenAt] = useState<string>();
  const isOpen = openAt === pathname;
  return (
    <nav className="nav" aria-label="Screens" data-open={isOpen}>
      <button
        type="button"
        className="nav-fold"
        aria-expanded={isOpen}
        aria-controls="screens"
        onClick={() => setOpenAt(isOpen ? undefined : pathname)}
      >
        Menu
      </button>
      <Screens />
    </nav>
  );
};

const Screens = () => {
  const tenantId = useTenantId();
  return (
    <ul className="nav-screens" id="screens">
      <li>
        <Link to="/" activeOptions={{ exact: true, includeSearch: false }}>
          Home
        </Link>
      </li>
      {tenantId !== undefined && (
        <>
          <li>
            <Link to="/o/$tenantId/projects" params={{ tenantId }}>
              Projects
            </Link>
          </li>
          <li>
            <Link to="/o/$tenantId/datasets" params={{ tenantId }}>
              Datasets
            </Link>
          </li>
          <li>
            <Link to="/o/$tenantId/annotation-queues" params={{ tenantId }}>
              Queues
            </Link>
          </li>
          <li>
            <Link to="/prompts">Prompts</Link>
          </li>
          <li>
            <Link to="/o/$tenantId/feedback" params={{ tenantId }}>
              Feedback
            </Link>
          </li>
          <li>
            <Link to="/o/$tenantId/settings" params={{ tenantId }}>
              Settings
            </Link>
          </li>
        </>
      )}
    </ul>
  );
};
