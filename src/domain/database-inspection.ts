/** A database as it was found, looked at from the outside: nothing was made, migrated or locked. */

export interface DatabaseInspection {
  /** Name and version of what keeps it. */
  readonly engine: string
  readonly schema: SchemaInspection
  /** How far the database's clock is ahead of this machine's; null where they are the same. */
  readonly clockAheadMs: number | null
  /** Why an answer that was given might not survive a power cut; empty when it will. */
  readonly doubts: readonly string[]
  /** Whether the file was read through for damage; null where that was not asked for. */
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
