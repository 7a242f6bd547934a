/** The conformance suite of publishing on PostgreSQL, every world in a database of its own. */
import { openPostgres } from '../../src/stores/open-postgres.ts'
import { freshDatabase } from '../postgres/fresh-database.ts'
import { exercisePublishing } from './publisher.suite.ts'

exercisePublishing('PostgreSQL', async (seams) => {
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
