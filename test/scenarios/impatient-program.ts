/**
 * The command line with shorter waits, for tests that would otherwise wait for a delivery lease or
 * a retry in real time. The waits come from a variable of this program; Holdfast has no setting for
 * them.
 */
import { main } from '../../src/cli/main.ts'
import { compose } from '../../src/compose.ts'
import type { PublishingRules } from '../../src/domain/outbox/schedule.ts'

const given = JSON.parse(process.env['TEST_PUBLISHING_RULES'] ?? '{}') as Partial<PublishingRules>

await main({
  compose: (settings, options) => compose(settings, { ...options, publishing: given }),
})
