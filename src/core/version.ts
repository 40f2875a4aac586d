declare const __STINT_VERSION__: string;

/** The package's version; the build puts it in. */
export const VERSION: string = typeof __STINT_VERSION__ === "undefined" ? "0.0.0-development" : __STINT_VERSION__;
