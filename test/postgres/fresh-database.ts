/**
 * What test files use: an empty database in the cluster that the run has started.
 */
import { inject } from 'vitest'
import { createDatabase, type DatabaseOptions, type TestDatabase } from './create-database.ts'

export type { TestDatabase } from './create-database.ts'

export function freshDatabase(options: DatabaseOptions = {}): Promise<TestDatabase> {
  return createDatabase(inject('postgresUrl'), options)
}
