import { NotFoundError } from "../../model/errors.ts";

/** Returns whether a read succeeds: `false` if it fails with {@link NotFoundError}. Any other failure is thrown. */
export async function isFound(read: Promise<unknown>): Promise<boolean> {
  try {
    await read;
    return true;
  } catch (error) {
    if (error instanceof NotFoundError) {
      return false;
    }
    throw error;
  }
}
