/** `why` on PostgreSQL, every world in a database of its own. */
import { describe } from 'vitest'
import { openPostgres } from '../../src/stores/open-postgres.ts'
import { freshDatabase } from '../postgres/fresh-database.ts'
import { whyDeliveries } from './why-deliveries.suite.ts'
import { whyWalk } from './why-walk.suite.ts'
import { why } from './why.suite.ts'
import type { OpenStore } from './world.ts'

const open: OpenStore = async (seams) => {
  const database = await freshDatabase()
  const store = await openPostgres(database.url, seams)
  return {
    store,
    close: async () => {
      await store.close()
      await database.drop()
    },
  }
}

describe('why on PostgreSQL', () => why(open))
describe('why on PostgreSQL, of what GitHub shows', () => whyDeliveries(open))
describe('why on PostgreSQL, in any order', () => whyWalk(open))
