import { Link, useLocation } from "@tanstack/react-router";
import { Empty } from "../../components/page/states.tsx";
import { toVisibleText } from "../../components/text/visible-text.ts";

const pathChars = 200;

/** Shown at an address that no route matches. */
export const PageNotFound = () => {
  const { pathname } = useLocation();
  return (
    <div className="absent-view">
      <title>No such page · Millrace</title>
      <div className="heading">
        <h1>There is no such page</h1>
      </div>
      <Empty title="Nothing is at this address.">
        <p>
          <code>{toVisibleText(pathname.slice(0, pathChars))}</code>
        </p>
        <p>It may have been cut off.</p>
        <Link to="/">Go to the first page</Link>
      </Empty>
    </div>
  );
};
