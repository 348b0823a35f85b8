import { Link, useLocation } from "@tanstack/react-router";
import { Empty } from "../../components/page/states.tsx";
import { toVisibleText } from "../../components/text/visible-text.ts";

const maxPathLength = 200;

/** Shown for a URL that no route matches. */
export const PageNotFound = () => {
  const { pathname } = useLocation();
  return (
    <div className="absent-view">
      <title>Page not found · Millrace</title>
      <div className="heading">
        <h1>Page not found</h1>
      </div>
      <Empty title="This URL does not exist.">
        <p>
          <code>{toVisibleText(pathname.slice(0, maxPathLength))}</code>
        </p>
        <Link to="/">Go to the home page</Link>
      </Empty>
    </div>
  );
};
