/** The spool's quota does not hold what is to be written. */
export class SpoolFull extends Error {
  constructor(bytes: number, quotaBytes: number) {
    super(`${bytes} bytes are more than the spool's quota of ${quotaBytes} leaves`);
  }
}
