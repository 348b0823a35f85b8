import { ActionIcon, useComputedColorScheme, useMantineColorScheme } from "@mantine/core";
import { Outlet, useLocation, Link } from "@tanstack/react-router";
import { lazy, Suspense, useSyncExternalStore, useEffect, useRef } from "react";
import type { RefObject } from "react";
import { subscribeToAccess, readAccess } from "../../api/access.ts";
import { useTenantId } from "../../api/tenant.ts";
import { PageLoading } from "../../components/page/absent-view.tsx";
import { loadChunk } from "../../components/page/load-chunk.ts";
import { OfflineBanner, StaleBanner, ReadOnlyBanner } from "./banners.tsx";
import { Keyboard } from "./keyboard.tsx";
import { Navigation } from "./navigation.tsx";
import { TenantGate } from "./tenant-gate.tsx";

/** The frame around every view: header, navigation and banners. */
export const Shell = () => {
  const access = useSyncExternalStore(subscribeToAccess, readAccess);
  const { pathname } = useLocation();
  const mainElement = useFocusOnNavigation();
  return (
    <div className="shell">
      <a className="skip" href="#view" onClick={() => mainElement.current?.focus()}>
        Skip to content
      </a>
      <header className="bar">
        <Brand />
        {access.kind === "open" && !isPublicPath(pathname) && <Navigation />}
        <div className="bar-end">
          {access.kind === "open" && !isPublicPath(pathname) && <Jobs />}
          {access.kind === "open" && !isPublicPath(pathname) && <Keyboard />}
          <SchemeButton />
        </div>
      </header>
      <OfflineBanner />
      <StaleBanner />
      {access.kind === "open" && !isPublicPath(pathname) && <ReadOnlyBanner />}
      <main className="view" id="view" tabIndex={-1} ref={mainElement}>
        {access.kind === "open" ? (
          <TenantGate>
            <Outlet />
          </TenantGate>
        ) : (
          <Suspense fallback={<PageLoading />}>
            <KeyEntry hasRejectedKey={access.hasRejectedKey} />
          </Suspense>
        )}
      </main>
    </div>
  );
};

const Brand = () => (
  <Link to="/" className="brand" aria-label="Millrace, home">
    <svg viewBox="0 0 32 32" aria-hidden="true">
      <path d="M6 10h14M6 16h20M12 22h14" />
    </svg>
    <span>Millrace</span>
  </Link>
);

const KeyEntry = lazy(async () =>
  loadChunk(async () => ({ default: (await import("./key-entry.tsx")).KeyEntry })),
);

const JobMenu = lazy(async () =>
  loadChunk(async () => ({ default: (await import("../../features/jobs/job-menu.tsx")).JobMenu })),
);

/** The menu of running jobs. Its code loads after the page. */
const Jobs = () => {
  const tenantId = useTenantId();
  return tenantId === undefined ? null : (
    <Suspense fallback={null}>
      <JobMenu tenantId={tenantId} />
    </Suspense>
  );
};

/** Switches between the light and the dark theme. The settings also offer the system's theme. */
const SchemeButton = () => {
  const { setColorScheme } = useMantineColorScheme();
  const otherScheme = useComputedColorScheme("light") === "light" ? "dark" : "light";
  return (
    <ActionIcon
      variant="subtle"
      color="gray"
      aria-label={otherScheme === "dark" ? "Dark theme" : "Light theme"}
      title={otherScheme === "dark" ? "Dark theme" : "Light theme"}
      onClick={() => setColorScheme(otherScheme)}
    >
      <svg className="icon" viewBox="0 0 16 16" aria-hidden="true">
        <path d={otherScheme === "dark" ? moonPath : sunPath} />
      </svg>
    </ActionIcon>
  );
};

const moonPath = "M13.5 9.6A6 6 0 1 1 6.4 2.5a5 5 0 0 0 7.1 7.1Z";
const sunPath =
  "M8 5a3 3 0 1 0 0 6 3 3 0 0 0 0-6ZM8 1v1.5M8 13.5V15M1 8h1.5M13.5 8H15M3 3l1 1M12 12l1 1M3 13l1-1M12 4l1-1";

/**
 * Focuses the main element when the path of the URL changes, so that screen readers and the Tab key start at the new
 * page. The focus does not move when the UI opens, or when only the query of the URL changes.
 */
function useFocusOnNavigation(): RefObject<HTMLElement | null> {
  const mainElement = useRef<HTMLElement>(null);
  const { pathname } = useLocation();
  const lastPath = useRef(pathname);
  useEffect(() => {
    if (lastPath.current !== pathname) {
      lastPath.current = pathname;
      mainElement.current?.focus({ preventScroll: true });
      mainElement.current?.scrollTo(0, 0);
    }
  }, [pathname]);
  return mainElement;
}

/** Whether a URL is public. Public views need no key and show no navigation to views that need one. */
const isPublicPath = (pathname: string): boolean => /^\/(public|feedback\/tokens)\//.test(pathname);
