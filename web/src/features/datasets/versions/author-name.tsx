import { toVisibleText } from "../../../components/text/visible-text.ts";
import { describeVersionAuthor, getVersionAuthorName } from "../version-author.ts";
import type { VersionAuthor } from "../version-author.ts";

/** The author of a version, with all that is known about them as a tooltip. */
export const AuthorName = ({ author }: { readonly author: VersionAuthor | undefined }) => (
  <bdi
    className={author === undefined ? "quiet" : undefined}
    title={toVisibleText(describeVersionAuthor(author))}
  >
    {toVisibleText(getVersionAuthorName(author))}
  </bdi>
);
