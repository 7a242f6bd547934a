/**
 * An `ActPlanner` over the runs, deliveries and GitHub answers that a test gives, and the acts that
 * it plans for an event.
 */
import type { RunTypeConfig } from '../../src/config.ts'
import type { Claim } from '../../src/domain/claim.ts'
import type { Delivery } from '../../src/domain/outbox/delivery.ts'
import type { Run } from '../../src/domain/run.ts'
import type { Subject } from '../../src/domain/subject.ts'
import type { GitHub, RoleAnswer } from '../../src/github.ts'
import { ActPlanner } from '../../src/intake/acts.ts'
import { readEvent, type WebhookEvent } from '../../src/intake/events/webhook-event.ts'
import { toClaim } from '../../src/runs/claim-request.ts'
import { withTypeDefaults } from '../../src/settings/run-types/type-defaults.ts'
import type { WebhookAct } from '../../src/store.ts'
import { policy } from '../conformance/claims.ts'

export const now = Date.UTC(2026, 0, 1)

export interface ActsInput {
  readonly types?: Readonly<Record<string, RunTypeConfig>>
  readonly github?: Pick<GitHub, 'headOf'> | null
  readonly role?: () => Promise<RoleAnswer>
  readonly runs?: readonly Partial<Run>[]
  readonly subjects?: readonly Partial<Subject>[]
  /** The check runs of the runs. */
  readonly shown?: readonly Partial<Delivery>[]
}

export function plannerOf(input: ActsInput = {}) {
  const { types, github = null, role, runs = [], subjects = [], shown = [] } = input
  const learned: unknown[] = []
  const planner = new ActPlanner({
    types: withTypeDefaults(types === undefined ? {} : { runs: types }).runs,
    store: {
      now: () => now,
      runs: {
        list: async () => ({ items: runs as readonly Run[], nextCursor: null }),
        get: async () => null,
        subjectsOf: async () => subjects as readonly Subject[],
      },
      catchUp: { eventHeads: async () => [] },
      outbox: {
        list: async ({ runId }) => {
          const items = shown.filter((delivery) => delivery.runId === runId)
          return { items: items as readonly Delivery[], nextCursor: null }
        },
      },
      repositories: { learn: async (...repository) => void learned.push(repository) },
    },
    github,
    roles: role === undefined ? null : { roleOf: role },
    account: { current: () => null, firstAsked: Promise.resolve() },
    toClaim: (request, actor) =>
      toClaim(request, { policy, lease: null, leaseMs: 1000, actor, now }),
  })
  return { planner, learned }
}

export const acts = (input: ActsInput, name: string, payload: object) =>
  actsBy(plannerOf(input).planner, readEvent('guid', name, payload))

export async function actsBy(planner: ActPlanner, event: WebhookEvent) {
  return await planner.actsFor(event, await planner.routesFor(event))
}

export const reasonOf = (act: WebhookAct) => (act.act === 'note' ? act.outcome.reason : act.act)

export async function claimOf(input: ActsInput, name: string, payload: object): Promise<Claim> {
  const [act] = await acts(input, name, payload)
  if (act?.act !== 'claim') throw new Error(`no claim but ${JSON.stringify(act)}`)
  return act.claim
}
