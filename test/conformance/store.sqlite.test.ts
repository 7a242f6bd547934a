/** The conformance suite on SQLite, in memory. */
import { openSqlite } from '../../src/stores/open-sqlite.ts'
import { exerciseStore } from './store.suite.ts'

exerciseStore('SQLite', async (seams) => {
  const store = openSqlite({ path: ':memory:', exclusive: true }, seams)
  return { store, close: () => store.close() }
})
