import { Link, useLocation } from "@tanstack/react-router";
import { useState } from "react";
import { useTenantId } from "../../api/tenant.ts";
import { usePages } from "../../components/page/pages.ts";

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
  const hasTenant = useTenantId() !== undefined;
  // Before the tenant is known, only the home page is listed: the others would be added one by one.
  const pages = usePages().filter(
    ({ label, path }) => label !== undefined && (hasTenant || path === "/"),
  );
  return (
    <ul className="nav-screens" id="screens">
      {pages.map(({ path, params, label }) => (
        <li key={path}>
          <Link
            to={path}
            params={params}
            activeOptions={{ exact: path === "/", includeSearch: false }}
          >
            {label}
          </Link>
        </li>
      ))}
    </ul>
  );
};
