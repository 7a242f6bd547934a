/** Opens stores on PostgreSQL for the conformance suites, each world in its own database. */
import { openPostgres } from '../../src/stores/open-postgres.ts'
import { migratedDatabase } from '../postgres/fresh-database.ts'
import type { OpenStore } from './world.ts'

export const openOnPostgres: OpenStore = async (machine) => {
  const database = await migratedDatabase()
  const store = await openPostgres(database.url, machine)
  return {
    store,
    close: async () => {
      await store.close()
      await database.drop()
    },
  }
}
