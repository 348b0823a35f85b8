/** The values of `--only`. */
export const importKinds = ["projects", "datasets", "runs", "feedback", "prompts"] as const;

export type ImportKind = (typeof importKinds)[number];

/** A server that data is imported from, phase by phase. */
export interface ImportSource {
  /**
   * Checks the address and the key. Returns the account that the key belongs to, such as a workspace's id: a checkpoint
   * of another account is refused.
   *
   * @throws SourceError if the server is of another kind, or refuses the key.
   */
  readonly connect: () => Promise<string>;
  readonly phases: readonly Phase[];
}

/** A part of an import, such as all datasets. */
export interface Phase {
  readonly name: string;
  /** Lists the items, such as datasets. Each has a different key. */
  readonly listItems: () => Promise<readonly Item[]>;
}

/** Something that is imported page by page, such as the examples of a dataset. */
export interface Item {
  readonly key: string;
  /** What is being imported, for the progress display. */
  readonly label: string;
  /**
   * Imports one page. Resolves when the server has acknowledged its rows, with the cursor of the next page; `undefined`
   * after the last one. Repeating a page has no further effect.
   *
   * @param cursor what the previous page returned; `undefined` for the first page.
   */
  readonly importPage: (cursor: string | undefined) => Promise<string | undefined>;
}

/**
 * The cursor between the creation of an item and its first page of rows. Servers' own cursors never have this form, so
 * that the two can't be confused.
 */
const firstPage = "first page";

/**
 * Returns the `importPage` of an item that must exist on the target before its rows are imported, such as a project.
 *
 * @param create creates the item; returns whether its rows are imported.
 * @param importRows imports a page of rows; its cursor is `undefined` for the first one.
 */
export const createThenImport =
  (create: () => Promise<boolean>, importRows: Item["importPage"]): Item["importPage"] =>
  async (cursor) => {
    if (cursor === undefined) {
      return (await create()) ? firstPage : undefined;
    }
    return importRows(cursor === firstPage ? undefined : cursor);
  };
