import type { Connection } from "./connection.ts";

/** The application id in the header of each Millrace database, by which programs recognize it: "MILL" in ASCII. */
const applicationId = 0x4d_49_4c_4c;

/** Tables that every version has. Databases of versions that wrote no application id are recognized by these tables. */
const oldTables = ["settings", "projects", "runs", "payloads"];

const readPragma = (db: Connection, pragma: string): number =>
  Number(db.prepare(`PRAGMA ${pragma}`).raw().all().flat()[0] ?? 0);

/**
 * Checks that a database belongs to Millrace, or is new. Must be called before anything is written.
 *
 * @throws Error the database belongs to another program.
 */
export function assertMillraceDatabase(db: Connection): void {
  const id = readPragma(db, "application_id");
  if (id === applicationId) {
    return;
  }
  const tables = new Set(
    db.prepare("SELECT name FROM sqlite_master").raw().all().flat().map(String),
  );
  const isNew = id === 0 && tables.size === 0 && readPragma(db, "user_version") === 0;
  const isOld =
    id === 0 && readPragma(db, "user_version") > 0 && oldTables.every((name) => tables.has(name));
  if (!isNew && !isOld) {
    throw new Error(
      "it is the database of another program, and was left as it is: choose another data folder",
    );
  }
}

/** Sets the application id of a Millrace database, once. */
export function writeApplicationId(db: Connection): void {
  if (readPragma(db, "application_id") !== applicationId) {
    db.exec(`PRAGMA application_id = ${applicationId}`);
  }
}
