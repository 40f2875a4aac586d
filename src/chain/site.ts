/** The site file of this host: where it is, and what it says. */
import { existsSync, readFileSync } from "node:fs";
import { errorCode } from "../host/index.ts";
import { parseSiteFile, type SiteFile } from "../spec/index.ts";
import { sitePath } from "./site-now.ts";

type Environment = Readonly<Record<string, string | undefined>>;

export type LoadedSite =
  | { readonly kind: "none"; readonly path: string }
  | { readonly kind: "site"; readonly site: SiteFile }
  /** One line each. */
  | { readonly kind: "errors"; readonly path: string; readonly errors: readonly string[] };

/** Reads the site file, once per process and path. A missing /etc/stint.yaml is none; a missing STINT_SITE is an error. */
export function loadSite(environment: Environment): Promise<LoadedSite> {
  const path = sitePath(environment);
  const loading = loaded.get(path) ?? readSite(path, (environment.STINT_SITE ?? "") !== "");
  loaded.set(path, loading);
  return loading;
}

const loaded = new Map<string, Promise<LoadedSite>>();

async function readSite(path: string, isNamed: boolean): Promise<LoadedSite> {
  if (!isNamed && !existsSync(path)) return { kind: "none", path };
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    const by = isNamed ? " (named by STINT_SITE)" : "";
    return {
      kind: "errors",
      path,
      errors: [`the site file ${path}${by} cannot be read: ${errorCode(error) ?? error}`],
    };
  }
  const parsed = await parseSiteFile(text, path);
  return parsed.kind === "site" ? parsed : { kind: "errors", path, errors: parsed.errors };
}
