/** `why` on SQLite, in memory. */
import { describe } from 'vitest'
import { openSqlite } from '../../../src/stores/open-sqlite.ts'
import { whyAdvice } from './why-advice.suite.ts'
import { whyDeliveries } from './why-deliveries.suite.ts'
import { whyMissed } from './why-missed.suite.ts'
import { whySteps } from './why-steps.suite.ts'
import { whyWalk } from './why-walk.suite.ts'
import { whyWebhooks } from './why-webhooks.suite.ts'
import { why } from './why.suite.ts'
import type { OpenStore } from '../world.ts'

const open: OpenStore = (machine) => {
  const store = openSqlite({ path: ':memory:', exclusive: true }, machine)
  return Promise.resolve({ store, close: () => store.close() })
}

describe('why on SQLite', () => why(open))
describe('why on SQLite, of what GitHub shows', () => whyDeliveries(open))
describe('why on SQLite, of what people can do', () => whyAdvice(open))
describe('why on SQLite, of webhooks that were missed', () => whyMissed(open))
describe('why on SQLite, of the webhooks of a story', () => whyWebhooks(open))
describe('why on SQLite, of steps', () => whySteps(open))
describe('why on SQLite, in any order', () => whyWalk(open))
