/** The values of `--only`. */
export const importKinds = ["projects", "datasets", "runs", "feedback", "prompts"] as const;

/** One of {@link importKinds}. */
export type ImportKind = (typeof importKinds)[number];

/** A server that data is imported from, phase by phase. */
export interface ImportSource {
  /**
   * Checks the address and the key. Returns the id of the account that the key belongs to, such as a workspace. A
   * checkpoint of another account is refused.
   *
   * @throws `SourceError` if the address is not a server of this product, or the server refuses the key.
   */
  readonly connect: () => Promise<string>;
  readonly phases: readonly Phase[];
}

/** A part of an import, such as all datasets. */
export interface Phase {
  readonly name: string;
  /** Lists the items, such as datasets. No two of them have the same key. */
  readonly listItems: () => Promise<readonly Item[]>;
}

/** A unit of an import that is imported page by page, such as a dataset with its examples. */
export interface Item {
  readonly key: string;
  /** What is being imported, for the progress display. */
  readonly label: string;
  /**
   * Imports one page. Resolves when the server has acknowledged its rows, with the cursor of the next page; `undefined`
   * after the last one. Repeating a page has no further effect.
   *
   * @param cursor - the result of the call for the previous page; `undefined` for the first page.
   */
  readonly importPage: (cursor: string | undefined) => Promise<string | undefined>;
}

/**
 * The cursor after an item was created, before its first page of rows. It differs from every cursor that a server
 * returns.
 */
const firstPage = "first page";

/**
 * Creates the function `importPage` of an item that must exist on the target before its rows are imported, such as a
 * project.
 *
 * @param create - creates the item, and returns whether its rows are imported.
 * @param importRows - imports a page of rows; its cursor is `undefined` for the first page.
 */
export const createThenImport =
  (create: () => Promise<boolean>, importRows: Item["importPage"]): Item["importPage"] =>
  async (cursor) => {
    if (cursor === undefined) {
      return (await create()) ? firstPage : undefined;
    }
    return importRows(cursor === firstPage ? undefined : cursor);
  };
