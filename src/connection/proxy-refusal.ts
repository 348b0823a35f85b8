/** A proxy answered, and would not connect us. */
export class ProxyRefusal extends Error {
  readonly status: number;

  constructor(status: number) {
    super(`the proxy answered ${status}`);
    this.name = "ProxyRefusal";
    this.status = status;
  }
}
