/** For test files: a database of their own in the cluster that the test run has started. */
import { inject } from 'vitest'
import { createDatabase, type DatabaseOptions, type TestDatabase } from './create-database.ts'
import { emptyMigrated } from './migrated-template.ts'

export type { TestDatabase } from './create-database.ts'

/** An empty database without our schema. A test may do anything to it. */
export function freshDatabase(options: DatabaseOptions = {}): Promise<TestDatabase> {
  return createDatabase(inject('postgresUrl'), options)
}

/** Emptied databases of this file that wait for the next test. */
const waiting: TestDatabase[] = []

/**
 * A database with our schema and no rows. A test must not change its schema or settings: `drop`
 * empties it for the next test of this file.
 */
export async function migratedDatabase(): Promise<TestDatabase> {
  const database = waiting.pop() ?? (await freshDatabase({ template: inject('migratedTemplate') }))
  return {
    ...database,
    drop: async () => {
      await emptyMigrated(database.url)
      waiting.push(database)
    },
  }
}
