import { Link, useLocation } from "@tanstack/react-router";
import { useEffect, useRef, useState } from "react";
import { useTenantId } from "../../api/tenant.ts";
import { usePages } from "../../components/page/pages.ts";

/**
 * The links to the pages of the UI, at the side. On narrow screens a button shows and hides them; Escape and a click
 * elsewhere hide them, too.
 */
export const Navigation = () => {
  const { pathname } = useLocation();
  // The path at which the menu was opened. Following a link changes the path, which closes the menu.
  const [openPath, setOpenPath] = useState<string>();
  const isOpen = openPath === pathname;
  const nav = useRef<HTMLElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    if (!isOpen) {
      return undefined;
    }
    const closeByKey = ({ key }: KeyboardEvent): void => {
      if (key === "Escape") {
        setOpenPath(undefined);
        button.current?.focus();
      }
    };
    const closeByClick = ({ target }: PointerEvent): void => {
      if (!nav.current?.contains(target as Node)) {
        setOpenPath(undefined);
      }
    };
    document.addEventListener("keydown", closeByKey);
    document.addEventListener("pointerdown", closeByClick);
    return () => {
      document.removeEventListener("keydown", closeByKey);
      document.removeEventListener("pointerdown", closeByClick);
    };
  }, [isOpen]);
  return (
    <nav ref={nav} className="nav" aria-label="Pages" data-open={isOpen}>
      <button
        ref={button}
        type="button"
        className="nav-fold"
        aria-expanded={isOpen}
        aria-controls="screens"
        onClick={() => setOpenPath(isOpen ? undefined : pathname)}
      >
        Menu
      </button>
      <PageLinks />
    </nav>
  );
};

/** The icon of a page that declares none. */
const defaultIcon = "M3 3h10v10H3Z";

const PageLinks = () => {
  const hasTenant = useTenantId() !== undefined;
  // Before the tenant is known, list only the home page, because the links would otherwise appear in two steps.
  const pages = usePages().filter(
    ({ label, path }) => label !== undefined && (hasTenant || path === "/"),
  );
  return (
    <ul className="nav-screens" id="screens">
      {pages.map(({ path, params, label, icon = defaultIcon }) => (
        <li key={path}>
          <Link
            to={path}
            params={params}
            activeOptions={{ exact: path === "/", includeSearch: false }}
          >
            <svg className="icon" viewBox="0 0 16 16" aria-hidden="true">
              <path d={icon} />
            </svg>
            {label}
          </Link>
        </li>
      ))}
    </ul>
  );
};
