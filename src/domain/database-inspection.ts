/** What reading a database from outside found. Nothing was created, migrated or locked. */

export interface DatabaseInspection {
  /** Name and version of the database program. */
  readonly engine: string
  readonly schema: SchemaInspection
  /** How far the database's clock is ahead of this machine's; null if both use one clock. */
  readonly clockAheadMs: number | null
  /** Why committed data might not survive a power cut; empty when it will. */
  readonly doubts: readonly string[]
  /** Whether the whole file was checked for damage; null when that was not asked for. */
  readonly readThrough: boolean | null
}

export interface SchemaInspection {
  /** The newest migration that was applied; 0 when there is no store yet. */
  readonly version: number
  /** Still to be applied, in order. */
  readonly missing: readonly MissingMigration[]
}

export interface MissingMigration {
  readonly version: number
  readonly name: string
}
