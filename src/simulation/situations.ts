/**
 * What the worlds really met, counted: a rule that held proves nothing about what never happened.
 * Taken from the tables and from what GitHub received, not from what faults meant to do; those
 * that never happened are told as well.
 */
import type { Facts } from './facts.ts'
import type { World } from './world.ts'

/** What a write is about, by its method and path. */
const writes = {
  comment: /^(POST|PATCH) .*\/issues\/(\d+\/comments|comments\/\d+)$/,
  status: /^POST .*\/statuses\/\w+$/,
  'check run': /^(POST|PATCH) .*\/check-runs/,
  review: /^(POST|PUT) .*\/reviews/,
  label: /^POST .*\/labels$/,
  deletion: /^DELETE /,
} as const satisfies Readonly<Record<string, RegExp>>

type Write = keyof typeof writes

const otherSituations = [
  'events of one pull request in the same second',
  'commits at the head of two pull requests',
  'names that turned out to be one repository',
  'worlds that act under several installations',
  'restores of an older database',
  'runs that were purged',
  'clocks that were set',
  'stops that outlast a lease',
  'backlogs of a worker',
] as const

export type Situation = (typeof otherSituations)[number] | `faults at a ${Write}`

export type Situations = ReadonlyMap<Situation, number>

export const noSituations: Situations = new Map<Situation, number>([
  ...otherSituations.map((name) => [name, 0] as const),
  ...(Object.keys(writes) as Write[]).map((write) => [`faults at a ${write}`, 0] as const),
])

export function countSituations(facts: Facts, world: World): Situations {
  const { faultCounts, clockJumps, forgotten } = world
  return new Map<Situation, number>([
    ...noSituations,
    ['events of one pull request in the same second', countSameSecond(facts)],
    ['commits at the head of two pull requests', countSharedHeads(world)],
    ['names that turned out to be one repository', countAudit(facts, 'repository.merged')],
    ['worlds that act under several installations', countInstallations(world) > 1 ? 1 : 0],
    ['restores of an older database', forgotten === null ? 0 : 1],
    ['runs that were purged', countAudit(facts, 'run.purged')],
    ['clocks that were set', clockJumps.length],
    [
      'stops that outlast a lease',
      (faultCounts.get('long stop') ?? 0) + (faultCounts.get('outage') ?? 0),
    ],
    ['backlogs of a worker', faultCounts.get('backlog') ?? 0],
    ...countFaultsOnWrites(world),
  ])
}

const countAudit = ({ audit }: Facts, wanted: string): number =>
  audit.filter(({ type }) => type === wanted).length

/** GitHub tells times by the second. */
function countSameSecond({ inbox }: Facts): number {
  const moments = new Map<string, Set<unknown>>()
  for (const { lane, event_at: at, event_key: key } of inbox) {
    if (lane === null || at === null) continue
    const moment = `${lane} ${at}`
    moments.set(moment, (moments.get(moment) ?? new Set()).add(key))
  }
  return [...moments.values()].filter(({ size }) => size > 1).length
}

function countSharedHeads({ pulls }: World): number {
  const heads = pulls.flatMap((pull) => [...new Set(pull.heads)].map((sha) => ({ sha, pull })))
  const shared = heads.filter(({ sha, pull }) =>
    heads.some((other) => other.sha === sha && other.pull !== pull),
  )
  return new Set(shared.map(({ sha }) => sha)).size
}

function countInstallations({ github }: World): number {
  const ids = github.requests.flatMap(({ path, status }) => {
    const [, id] = /^\/app\/installations\/(\d+)\/access_tokens$/.exec(path) ?? []
    return id === undefined || status !== 201 ? [] : [id]
  })
  return new Set(ids).size
}

function countFaultsOnWrites({ github }: World): (readonly [Situation, number])[] {
  const struck = github.requests.filter(({ fault }) => fault !== null)
  return (Object.keys(writes) as Write[]).map((write) => {
    const count = struck.filter(({ method, path }) =>
      writes[write].test(`${method} ${path}`),
    ).length
    return [`faults at a ${write}`, count] as const
  })
}
