/** Port: the Idempotency-Key of a request. A request that is repeated with it has one effect. */
export interface IdempotencyKey {
  readonly keyHash: string
  readonly bodyHash: string
  /** Encrypts the first answer before it is stored: it may contain a lease. */
  readonly seal: (text: string) => string
  readonly open: (sealed: string) => string
}
