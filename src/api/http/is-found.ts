import { NotFoundError } from "../../model/errors.ts";

/** Whether a read finds what it is for. Every other failure is thrown. */
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
