/** `why` on PostgreSQL. */
import { describe } from 'vitest'
import { openOnPostgres as open } from '../open-on-postgres.ts'
import { whyAdvice } from './why-advice.suite.ts'
import { whyDeliveries } from './why-deliveries.suite.ts'
import { whyMissed } from './why-missed.suite.ts'
import { whySteps } from './why-steps.suite.ts'
import { whyWalk } from './why-walk.suite.ts'
import { whyWebhooks } from './why-webhooks.suite.ts'
import { why } from './why.suite.ts'

describe('why on PostgreSQL', () => why(open))
describe('why on PostgreSQL, of what GitHub shows', () => whyDeliveries(open))
describe('why on PostgreSQL, of what people can do', () => whyAdvice(open))
describe('why on PostgreSQL, of webhooks that were missed', () => whyMissed(open))
describe('why on PostgreSQL, of the webhooks of a story', () => whyWebhooks(open))
describe('why on PostgreSQL, of steps', () => whySteps(open))
describe('why on PostgreSQL, in any order', () => whyWalk(open))
