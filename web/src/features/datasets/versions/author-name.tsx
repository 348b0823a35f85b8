import { toVisibleText } from "../../../components/text/visible-text.ts";
import { describeVersionAuthor, getVersionAuthorName } from "../version-author.ts";
import type { VersionAuthor } from "../version-author.ts";

/** The author of a version. A tooltip shows the person, the API key and the program. */
export const AuthorName = ({ author }: { readonly author: VersionAuthor | undefined }) => (
  <bdi
    className={author === undefined ? "quiet" : undefined}
    title={toVisibleText(describeVersionAuthor(author))}
  >
    {toVisibleText(getVersionAuthorName(author))}
  </bdi>
);
