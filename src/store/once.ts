/** Port: what a caller hands along so that a repeated request has one effect. */
export interface Once {
  readonly keyHash: string
  readonly bodyHash: string
  readonly seal: (text: string) => string
  readonly open: (sealed: string) => string
}
