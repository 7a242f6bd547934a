/** The conformance suite of publishing on SQLite, in memory. */
import { openSqlite } from '../../../src/stores/open-sqlite.ts'
import { exercisePublishing } from './publisher.suite.ts'

exercisePublishing('SQLite', async (machine) => {
  const store = openSqlite({ path: ':memory:', exclusive: true }, machine)
  return { store, close: () => store.close() }
})
