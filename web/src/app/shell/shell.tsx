import { Outlet, useLocation } from "@tanstack/react-router";
import { useSyncExternalStore } from "react";
import { onAccess, readAccess } from "../../api/access.ts";
import { isPublicAddress } from "./public-address.ts";
import { GoneBanner } from "./offline-banner.tsx";
import { KeyEntry } from "./key-entry.tsx";
import { Keyboard } from "./keyboard.tsx";
import { Navigation } from "./navigation.tsx";
import { Brand } from "./brand.tsx";
import { SchemeButton } from "./scheme-button.tsx";
import { ReadOnlyBanner } from "./read-only-banner.tsx";
import { StaleBanner } from "./stale-banner.tsx";
import { TenantGate } from "./tenant-gate.tsx";
import { useFocusOnMove } from "./use-focus-on-move.ts";

/** What stands around every view. */
export const Shell = () => {
  const access = useSyncExternalStore(onAccess, readAccess);
  const { pathname } = useLocation();
  const main = useFocusOnMove();
  return (
    <div className="shell">
      <a className="skip" href="#view" onClick={() => main.current?.focus()}>
        Skip to the page
      </a>
      <header className="bar">
        <Brand />
        {access.kind === "open" && !isPublicAddress(pathname) && <Navigation />}
        <div className="bar-end">
          {access.kind === "open" && !isPublicAddress(pathname) && <Keyboard />}
          <SchemeButton />
        </div>
      </header>
      <GoneBanner />
      <StaleBanner />
      {access.kind === "open" && !isPublicAddress(pathname) && <ReadOnlyBanner />}
      <main className="view" id="view" tabIndex={-1} ref={main}>
        {access.kind === "open" ? (
          <TenantGate>
            <Outlet />
          </TenantGate>
        ) : (
          <KeyEntry hadKey={access.hadKey} />
        )}
      </main>
    </div>
  );
};
