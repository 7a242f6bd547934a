/**
 * What test files use: a database of their own in the cluster that the run has started.
 */
import { inject } from 'vitest'
import { createDatabase, type DatabaseOptions, type TestDatabase } from './create-database.ts'
import { emptyMigrated } from './migrated-template.ts'

export type { TestDatabase } from './create-database.ts'

/** An empty one, without our schema. Anything may be done to it. */
export function freshDatabase(options: DatabaseOptions = {}): Promise<TestDatabase> {
  return createDatabase(inject('postgresUrl'), options)
}

/** Those of this file that are emptied and wait for the next test. */
const waiting: TestDatabase[] = []

/**
 * One with our schema and no rows. Its schema and its settings must stay as they are: `drop`
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
