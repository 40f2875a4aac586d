/** A value of a site file and where it stands, e.g. `/etc/stint.yaml:7`. */
export interface SiteValue<T> {
  readonly value: T;
  readonly at: string;
}
