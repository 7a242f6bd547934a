/** The conformance suite of publishing on SQLite, in memory. */
import { openSqlite } from '../../../src/stores/open-sqlite.ts'
import type { OpenStore } from '../world.ts'
import { gitHubCases } from './publisher-github.ts'
import { exercisePublishing } from './publisher.suite.ts'

const openInMemory: OpenStore = async (machine) => {
  const store = openSqlite({ path: ':memory:', exclusive: true }, machine)
  return { store, close: () => store.close() }
}

exercisePublishing('SQLite', openInMemory, gitHubCases)
