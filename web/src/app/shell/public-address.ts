/** Whether an address is for whoever has its link: no key, no navigation to what needs one. */
export const isPublicAddress = (pathname: string): boolean =>
  /^\/(public|feedback\/tokens)\//.test(pathname);
