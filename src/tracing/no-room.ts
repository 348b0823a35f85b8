/** Thrown through a record that finds no room; the record is dropped and counted. */
export class NoRoom extends Error {}

/** Thrown through the walk of a value when its field is full: what is written stays, and is closed. */
export class FieldFull extends NoRoom {
  /** Whether it was a key that found no room; for a value there is a marker already. */
  readonly atKey: boolean;

  constructor(atKey: boolean) {
    super();
    this.atKey = atKey;
  }
}
