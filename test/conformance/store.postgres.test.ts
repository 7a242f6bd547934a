/** The conformance suite on PostgreSQL, every world in a database of its own. */
import { openPostgres } from '../../src/stores/open-postgres.ts'
import { freshDatabase } from '../postgres/fresh-database.ts'
import { exerciseStore } from './store.suite.ts'

exerciseStore('PostgreSQL', async (seams) => {
  const database = await freshDatabase()
  const store = await openPostgres(database.url, seams)
  return {
    store,
    close: async () => {
      await store.close()
      await database.drop()
    },
  }
})
