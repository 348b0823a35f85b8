import type { IncomingMessage } from "node:http";
import { serverLimits } from "../model/options.ts";

/**
 * Closes the connection of a request that was answered before its body was read, in such a way that the client
 * receives the response: the server closes its own side, and discards incoming data for a while. If the connection
 * were closed at once with unread data, it would be reset, and the response lost.
 */
export function closeUnread(request: IncomingMessage): void {
  const { socket } = request;
  // Node calls this after the response was sent. Its own version closes the socket completely.
  socket.destroySoon = () => {
    let size = 0;
    const timer = setTimeout(() => socket.destroy(), serverLimits.discardMs).unref();
    socket.on("data", (chunk: Buffer) => {
      size += chunk.length;
      if (size > serverLimits.discardBytes) {
        socket.destroy();
      }
    });
    socket.once("end", () => socket.destroy()).once("close", () => clearTimeout(timer));
    socket.end();
    request.resume();
  };
}
